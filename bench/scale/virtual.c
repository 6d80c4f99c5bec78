#include "virtual.h"

#include "cores.h"

#include "sim/fibers.h"
#include "base/yield.h"

#include <stdlib.h>
#include <string.h>

enum { SPIN_NS = 50000 }; /* WAITER_SPIN_NS of operation.h */

struct place {
    unsigned node;
    int next; /* of the same node; -1: the last */
    uint64_t until_ns;
    bool is_called; /* an event waits for it */
    bool has_ended;
    void (*run)(void *);
    void *argument;
    /* On shared cores: */
    struct cores_thread thread;
    enum { WAITING, COMPUTING, COMPUTED } work;
    double work_ns;
    bool sleeps;    /* at once, when it waits */
    bool is_roused; /* what it waited for has come */
    uint64_t spins_until_ns;
};

static struct {
    struct events events;
    uint64_t now_ns;
    void (*happen)(const struct event *);
    struct place place[FIBERS_MAX];
    int first[VIRTUAL_NODES_MAX], last[VIRTUAL_NODES_MAX];
    uint64_t news_ns[VIRTUAL_NODES_MAX]; /* nobody sees what comes before it has come */
    unsigned fibers;
    int goes_on; /* that has got a core; -1: none has */
} all;

void virtual_begin(const struct model *m, void (*happen)(const struct event *))
{
    memset(&all, 0, sizeof all);
    cores_begin(m);
    all.goes_on = -1;
    all.now_ns = 1000;
    all.happen = happen;
    for (unsigned n = 0; n < VIRTUAL_NODES_MAX; n++) all.first[n] = all.last[n] = -1;
    fibers_begin(FIBERS_UNIFORM, 1);
}

void virtual_end(void (*forget)(const struct event *))
{
    struct event e;
    while (events_take(&all.events, &e)) forget(&e);
    events_free(&all.events);
}

uint64_t virtual_now_ns(void)
{
    return all.now_ns;
}

void virtual_plan(uint64_t at_ns, enum event_kind kind, void *what)
{
    events_put(&all.events, at_ns < all.now_ns ? all.now_ns : at_ns, kind, what);
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

const struct cores_thread *virtual_thread(void)
{
    int fiber = fibers_current();
    return fiber < 0 ? NULL : &all.place[fiber].thread;
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

/* ---- on shared cores ---- */

static void pause_on_core(struct place *p)
{
    if (p->has_ended || p->sleeps || all.now_ns >= p->spins_until_ns)
        cores_sleep(&p->thread);
    else
        cores_spin(&p->thread, p->spins_until_ns);
}

/* It has given way on its core. */
static void settle(struct place *p)
{
    p->spins_until_ns = all.now_ns + SPIN_NS;
    p->is_roused = false;
    if (p->work == COMPUTING)
        cores_compute(&p->thread, p->work_ns);
    else
        pause_on_core(p);
}

static void look_around(void *place)
{
    struct place *p = place;
    if (p->work == COMPUTING) p->work = COMPUTED;
    bool may = p->is_roused || p->work == COMPUTED || all.news_ns[p->node] <= all.now_ns;
    if (may && !p->has_ended && fibers_is_ready((unsigned)number(p)))
        all.goes_on = number(p);
    else
        pause_on_core(p);
}

int virtual_start(unsigned node, void (*run)(void *argument), void *argument)
{
    struct place *p = &all.place[all.fibers];
    *p = (struct place){.node = node, .next = -1, .run = run, .argument = argument};
    cores_open(&p->thread, node, CORES_SLICE_NS, look_around, p);
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
        if (p->has_ended || p->is_called || !cores_is_waiting(&p->thread)) continue;
        if (fibers_is_ready((unsigned)i)) call(p, at);
    }
}

/* The fiber that goes on, -1: it still waits, for what it has waited for or for a core. */
static int called(struct place *p)
{
    p->is_called = false;
    if (p->has_ended || !fibers_is_ready((unsigned)number(p))) return -1;
    if (!cores_are_shared()) return number(p);
    p->is_roused = true;
    cores_wake(&p->thread, NULL);
    return -1;
}

static int take_going(void)
{
    int fiber = all.goes_on;
    all.goes_on = -1;
    return fiber;
}

/* What happens; the fiber that goes on, or -1. */
static int happen(const struct event *e)
{
    switch (e->kind) {
    case EVENT_FIBER: return called(e->what);
    case EVENT_NODE: look_again((unsigned)(uintptr_t)e->what); return -1;
    case EVENT_CORE: cores_happen(e->what, e->at_ns); return take_going();
    default: all.happen(e); return -1;
    }
}

/* The next that can go on, when all that happens before has happened. */
static int next_fiber(void)
{
    struct event e;
    int fiber = fibers_current();
    if (fiber >= 0 && cores_are_shared()) settle(&all.place[fiber]);
    if (fiber >= 0) look_again(virtual_node());
    while (events_take(&all.events, &e)) {
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
    bool sleeps = p->sleeps;
    p->until_ns = ns;
    p->sleeps = true;
    call(p, ns);
    locus_fiber_wait(has_slept, p);
    p->sleeps = sleeps;
}

static bool has_computed(const void *place)
{
    return ((const struct place *)place)->work == COMPUTED;
}

void virtual_compute(double ns)
{
    struct place *p = &all.place[fibers_current()];
    if (!cores_are_shared()) {
        virtual_sleep_until(all.now_ns + (uint64_t)ns);
        return;
    }
    p->work = COMPUTING;
    p->work_ns = ns;
    locus_fiber_wait(has_computed, p);
    p->work = WAITING;
}

void virtual_spin(bool spins)
{
    all.place[fibers_current()].sleeps = !spins;
}

void virtual_news(unsigned node, uint64_t at_ns)
{
    if (at_ns > all.news_ns[node]) all.news_ns[node] = at_ns;
    virtual_plan(at_ns, EVENT_NODE, (void *)(uintptr_t)node);
}
