#include "virtual.h"

#include "base/sync.h"
#include "sim/fibers.h"

#include <stdlib.h>
#include <string.h>

struct place {
    unsigned node;
    int next; /* of the same node; -1: the last */
    uint64_t until_ns;
    bool is_called; /* an event waits for it */
    bool has_ended;
    void (*run)(void *);
    void *argument;
};

static struct {
    struct events {
        struct event *heap; /* of two at the same moment the one that was put first */
        size_t count, capacity;
        uint64_t order;
    } events;
    uint64_t now_ns;
    void (*happen)(const struct event *);
    struct place place[FIBERS_MAX];
    int first[VIRTUAL_NODES_MAX], last[VIRTUAL_NODES_MAX];
    uint64_t news_ns[VIRTUAL_NODES_MAX]; /* nobody sees what comes before it has come */
    unsigned fibers;
} all;

/* ---- What will happen ---- */

static bool is_before(const struct event *a, const struct event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void events_put(uint64_t at_ns, enum event_kind kind, void *what)
{
    struct events *e = &all.events;
    if (e->count == e->capacity) {
        e->capacity = e->capacity ? 2 * e->capacity : 1024;
        e->heap = realloc(e->heap, e->capacity * sizeof *e->heap);
        if (!e->heap) abort();
    }
    struct event new = {at_ns, e->order++, what, kind};
    size_t i = e->count++;
    for (; i > 0 && is_before(&new, &e->heap[(i - 1) / 2]); i = (i - 1) / 2)
        e->heap[i] = e->heap[(i - 1) / 2];
    e->heap[i] = new;
}

/* false: there is none. */
static bool events_take(struct event *first)
{
    struct events *e = &all.events;
    if (e->count == 0) return false;
    *first = e->heap[0];
    struct event last = e->heap[--e->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < e->count; i = child) {
        if (child + 1 < e->count && is_before(&e->heap[child + 1], &e->heap[child])) child++;
        if (!is_before(&e->heap[child], &last)) break;
        e->heap[i] = e->heap[child];
    }
    e->heap[i] = last;
    return true;
}

/* ---- Fibers ---- */

void virtual_begin(void (*happen)(const struct event *))
{
    memset(&all, 0, sizeof all);
    all.now_ns = 1000;
    all.happen = happen;
    for (unsigned n = 0; n < VIRTUAL_NODES_MAX; n++) all.first[n] = all.last[n] = -1;
    fibers_begin(FIBERS_UNIFORM, 1);
}

void virtual_end(void (*forget)(const struct event *))
{
    struct event e;
    while (events_take(&e)) forget(&e);
    free(all.events.heap);
    all.events = (struct events){0};
}

uint64_t virtual_now_ns(void)
{
    return all.now_ns;
}

void virtual_plan(uint64_t at_ns, enum event_kind kind, void *what)
{
    events_put(at_ns < all.now_ns ? all.now_ns : at_ns, kind, what);
}

unsigned virtual_node(void)
{
    int fiber = fibers_current();
    return fiber < 0 ? 0 : all.place[fiber].node;
}

int virtual_fiber(void)
{
    return fibers_current();
}

bool virtual_has_ended(int fiber)
{
    return all.place[fiber].has_ended;
}

static void call(struct place *p, uint64_t at_ns)
{
    p->is_called = true;
    virtual_plan(at_ns, EVENT_FIBER, p);
}

static int number(const struct place *p)
{
    return (int)(p - all.place);
}

static void be_fiber(void *place)
{
    struct place *p = place;
    p->run(p->argument);
    p->has_ended = true;
}

int virtual_start(unsigned node, void (*run)(void *argument), void *argument)
{
    struct place *p = &all.place[all.fibers];
    *p = (struct place){.node = node, .next = -1, .run = run, .argument = argument};
    fibers_add(be_fiber, p);
    *(all.last[node] < 0 ? &all.first[node] : &all.place[all.last[node]].next) = number(p);
    all.last[node] = number(p);
    all.fibers++;
    call(p, all.now_ns);
    return number(p);
}

static void look_again(unsigned node)
{
    uint64_t at = all.news_ns[node] > all.now_ns ? all.news_ns[node] : all.now_ns;
    for (int i = all.first[node]; i >= 0; i = all.place[i].next) {
        struct place *p = &all.place[i];
        if (!p->has_ended && !p->is_called && fibers_is_ready((unsigned)i)) call(p, at);
    }
}

/* The fiber that goes on, -1: it still waits. */
static int called(struct place *p)
{
    p->is_called = false;
    return p->has_ended || !fibers_is_ready((unsigned)number(p)) ? -1 : number(p);
}

/* What happens; the fiber that goes on, or -1. */
static int happen(const struct event *e)
{
    switch (e->kind) {
    case EVENT_FIBER: return called(e->what);
    case EVENT_NODE: look_again((unsigned)(uintptr_t)e->what); return -1;
    default: all.happen(e); return -1;
    }
}

/* The next that can go on, when all that happens before has happened. */
static int next_fiber(void)
{
    struct event e;
    int fiber = fibers_current();
    if (fiber >= 0) look_again(virtual_node());
    while (events_take(&e)) {
        all.now_ns = e.at_ns;
        fiber = happen(&e);
        if (fiber >= 0) return fiber;
    }
    return -1;
}

bool virtual_run(void)
{
    fibers_set_director(next_fiber);
    return fibers_run(UINT64_MAX) == FIBERS_ENDED;
}

static bool has_slept(const void *place)
{
    return ((const struct place *)place)->until_ns <= all.now_ns;
}

void virtual_sleep_until(uint64_t ns)
{
    struct place *p = &all.place[fibers_current()];
    if (ns <= all.now_ns) return;
    p->until_ns = ns;
    call(p, ns);
    locus_fiber_wait(has_slept, p);
}

void virtual_news(unsigned node, uint64_t at_ns)
{
    if (at_ns > all.news_ns[node]) all.news_ns[node] = at_ns;
    virtual_plan(at_ns, EVENT_NODE, (void *)(uintptr_t)node);
}
