#include "intents/intents.h"

#include "base/error.h"
#include "base/sets.h"
#include "base/sync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Keys that begin together, or would end together. */
struct intent_batch {
    locus_clock start, end; /* end: of all while they wait, then when they would end */
    uint32_t count, capacity;
    uint32_t waiting; /* of them counted in the node's bound */
    uint64_t index[];
};

static locus_clock clock_of(const struct intents *all, unsigned worker)
{
    return __atomic_load_n(all->clock[worker], __ATOMIC_ACQUIRE);
}

/* By what the worker and its loaders have named; less than `now`: not any more. */
static locus_clock wanted_until(const struct worker_intents *w, uint64_t index, locus_clock now)
{
    locus_clock until = INT64_MIN;
    for (const struct intent_stream *s = w->stream; s; s = s->next) {
        locus_clock at = stream_wanted_until(s, index, now);
        if (at > until) until = at;
    }
    return until;
}

/* ---- workers and loaders ---- */

struct intent_stream *intents_open_stream(struct intents *all, unsigned worker)
{
    struct intent_stream *s = stream_new(worker, all->keys, &all->announced[worker].opening);
    if (!s) return NULL;
    s->next = __atomic_load_n(&all->arrived, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all->arrived, &s->next, s, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
    return s;
}

locus_clock intents_lookahead(const struct intents *all, unsigned worker)
{
    return __atomic_load_n(&all->announced[worker].lookahead, __ATOMIC_RELAXED);
}

bool intents_published(struct intents *all, unsigned worker, locus_clock start, locus_clock now)
{
    struct announced *said = &all->announced[worker];
    /* An exchange, so that the keys are visible before we read what the shard has announced: the
     * shard looks at the streams once more after announcing that it sleeps. */
    locus_clock lookahead = __atomic_fetch_add(&said->lookahead, 0, __ATOMIC_SEQ_CST);
    if (start - now < lookahead) return true;
    locus_clock at = start - lookahead + 1, due = __atomic_load_n(&said->due, __ATOMIC_RELAXED);
    while (at < due && !__atomic_compare_exchange_n(&said->due, &due, at, true, __ATOMIC_SEQ_CST,
                                                    __ATOMIC_RELAXED)) {
    }
    /* If a loader signals, the worker may have passed that clock meanwhile and found nothing
     * due. */
    return __atomic_load_n(all->clock[worker], __ATOMIC_SEQ_CST) >= at;
}

bool intents_advanced(const struct intents *all, unsigned worker, locus_clock now)
{
    /* Sequentially consistent, like the worker's store of its clock just before: either the worker
     * sees what the shard wants, or the shard sees the clock before it sleeps. (No instruction on
     * x86.) */
    return now >= __atomic_load_n(&all->announced[worker].due, __ATOMIC_SEQ_CST);
}

/* ---- the shard: batches ---- */

static void push(struct clock_heap *h, locus_clock at, struct intent_batch *batch)
{
    bool added = clock_heap_add(h, at, batch);
    INVARIANT(added, "no memory for intents");
}

/* The analyzer loses track of the list, and takes what comes out of it for freed memory. */
/* NOLINTBEGIN(clang-analyzer-unix.Malloc) */
static struct intent_batch *pop(struct clock_heap *h)
{
    struct intent_batch *batch = h->due[0].what;
    clock_heap_drop(h);
    return batch;
}
/* NOLINTEND(clang-analyzer-unix.Malloc) */

static struct intent_batch *new_batch(locus_clock start, locus_clock end, uint32_t capacity)
{
    struct intent_batch *b = malloc(sizeof *b + capacity * sizeof b->index[0]);
    INVARIANT(b != NULL, "no memory for intents");
    *b = (struct intent_batch){.start = start, .end = end, .capacity = capacity};
    return b;
}

static struct intent_batch *pop_waiting(struct intents *all, struct worker_intents *w)
{
    struct intent_batch *b = pop(&w->waiting);
    if (b->waiting) __atomic_fetch_sub(all->node_keys, b->waiting, __ATOMIC_RELAXED);
    return b;
}

/* Events that go to the shard together: so it can prefetch what they are about. */
struct run {
    intents_hear *hear;
    void *context;
    unsigned count;
    struct intent_event event[INTENTS_RUN];
};

static void pass_on(struct run *r)
{
    if (r->count > 0) r->hear(r->context, r->event, r->count);
    r->count = 0;
}

/* The same happens to all of these keys. */
static void add_keys(struct run *r, const uint64_t *index, uint32_t count, struct intent_event e)
{
    for (uint32_t i = 0; i < count; i++) {
        if (r->count == INTENTS_RUN) pass_on(r);
        e.index = index[i];
        r->event[r->count++] = e;
    }
}

static void add_end(struct run *r, uint64_t index)
{
    add_keys(r, &index, 1, (struct intent_event){.kind = INTENT_ENDS});
}

static void add_batch(struct run *r, enum intent_kind kind, const struct intent_batch *b,
                      bool piggybacks)
{
    add_keys(
        r, b->index, b->count,
        (struct intent_event){
            .start = b->start, .end = b->end, .kind = (uint8_t)kind, .piggybacks = piggybacks});
}

/* ---- the shard: batches that others outlast ---- */

#ifdef LOCUS_FIBERS
enum { MERGE_MIN = 4 }; /* simulations have few keys */
#else
enum { MERGE_MIN = 1 << 15 };
#endif

static int latest_first(const void *a, const void *b)
{
    locus_clock x = ((const struct clock_due *)a)->at, y = ((const struct clock_due *)b)->at;
    return (x < y) - (x > y);
}

/* Takes the keys out that an earlier batch has. They end for this one, and go on for that. */
static void take_out_seen(struct intent_batch *b, struct keyset *seen, struct run *run)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        if (keyset_add(seen, b->index[i]))
            b->index[kept++] = b->index[i];
        else
            add_end(run, b->index[i]);
    }
    b->count = kept;
}

/* Later ends first. What stays, in the order of ends, is a heap again. */
static void merge_with(struct worker_intents *w, struct keyset *seen, struct run *run)
{
    struct clock_due *due = w->active.due;
    size_t all = w->active.count, kept = 0;
    qsort(due, all, sizeof *due, latest_first);
    w->active_keys = 0;
    for (size_t i = 0; i < all; i++) {
        struct intent_batch *b = due[i].what, *smaller;
        take_out_seen(b, seen, run);
        w->active_keys += b->count;
        if (b->count == 0) {
            free(b);
            continue;
        }
        smaller = b->count < b->capacity ? realloc(b, sizeof *b + b->count * sizeof b->index[0])
                                         : b;
        if (smaller) smaller->capacity = smaller->count;
        due[kept++] = (struct clock_due){.at = due[i].at, .what = smaller ? smaller : b};
    }
    w->active.count = kept;
    for (size_t i = 0; i < kept / 2; i++) {
        struct clock_due first = due[i];
        due[i] = due[kept - 1 - i];
        due[kept - 1 - i] = first;
    }
}

static void merge(struct worker_intents *w, struct run *run)
{
    if (w->active_keys <= w->merge_at || w->active_keys <= MERGE_MIN) return;
    struct keyset seen = {0};
    /* or the next time */
    if (keyset_begin(&seen, w->active_keys) == 0) merge_with(w, &seen, run);
    keyset_fini(&seen);
    w->merge_at = 2 * w->active_keys;
}

/* ---- the shard: ends ---- */

/* Batches of keys that are wanted on, by the first three bits of the clocks until their end. */
enum { LATER = 4 * 64 };

/* The analyzer does not follow all of these batches. */
/* NOLINTBEGIN(clang-analyzer-unix.Malloc) */
static void go_on(struct intent_batch *later[], uint64_t index, locus_clock start, locus_clock now,
                  locus_clock until)
{
    enum { A_FEW = 12 };
    uint64_t clocks = (uint64_t)(until - now);
    unsigned bits = 64 - (unsigned)__builtin_clzll(clocks), low = bits > 3 ? bits - 3 : 0;
    struct intent_batch **at = &later[4 * bits + (clocks >> low & 3)], *b = *at;
    if (!b) b = new_batch(start, now + (locus_clock)(clocks >> low << low), A_FEW);
    if (b->count == b->capacity) {
        b = realloc(b, sizeof *b + 2 * (size_t)b->capacity * sizeof b->index[0]);
        INVARIANT(b != NULL, "no memory for intents");
        b->capacity *= 2;
    }
    b->index[b->count++] = index;
    *at = b;
}

static void activate(struct worker_intents *w, struct intent_batch *b)
{
    w->active_keys += b->count;
    push(&w->active, b->end, b);
}

static void fetch_wants(const struct worker_intents *w, const struct intent_batch *b)
{
    for (const struct intent_stream *s = w->stream; s; s = s->next)
        for (uint32_t i = 0; i < b->count && stream_is_used(s); i++)
            __builtin_prefetch(stream_wants(s, b->index[i]));
}

static void end_due(struct worker_intents *w, locus_clock now, struct run *run)
{
    if (clock_heap_first(&w->active) > now) return;
    struct intent_batch *later[LATER] = {NULL};
    while (w->active.count > 0 && clock_heap_first(&w->active) <= now) {
        struct intent_batch *b = pop(&w->active);
        fetch_wants(w, b);
        for (uint32_t i = 0; i < b->count; i++) {
            locus_clock until = wanted_until(w, b->index[i], now);
            if (until > now)
                go_on(later, b->index[i], b->start, now, until);
            else
                add_end(run, b->index[i]);
        }
        w->active_keys -= b->count;
        free(b);
    }
    for (unsigned i = 0; i < LATER; i++)
        if (later[i]) activate(w, later[i]);
}
/* NOLINTEND(clang-analyzer-unix.Malloc) */

/* It waited beyond its end. Which of its keys are wanted on? */
static bool outlasts(const struct worker_intents *w, struct intent_batch *b, locus_clock now)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < b->count; i++)
        if (wanted_until(w, b->index[i], now) > now) b->index[left++] = b->index[i];
    b->count = left;
    b->end = now + 1;
    return left > 0;
}

/* Those that never end are the node's. */
static void end_worker(struct intents *all, struct worker_intents *w, struct run *run)
{
    while (w->waiting.count > 0) {
        struct intent_batch *b = pop_waiting(all, w);
        if (b->end == LOCUS_FOREVER) add_batch(run, INTENT_KEEPS, b, false);
        free(b);
    }
    while (w->active.count > 0) {
        struct intent_batch *b = pop(&w->active);
        add_batch(run, INTENT_ENDS, b, false);
        free(b);
    }
    w->active_keys = 0;
}

/* ---- the shard: streams ---- */

static void add_part(struct run *run, enum intent_kind kind, const struct intent_part *r)
{
    add_keys(run, r->index, r->count, (struct intent_event){.kind = (uint8_t)kind});
}

static int lower_first(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Keys that wait to be kept, and will not be. */
static void take_out(struct intent_batch *b, const uint64_t *sorted, uint32_t count)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < b->count; i++)
        if (!bsearch(&b->index[i], sorted, count, sizeof *sorted, lower_first))
            b->index[left++] = b->index[i];
    b->count = left;
}

static void take_back(struct intents *all, const struct intent_part *r, struct run *run)
{
    uint64_t sorted[STREAM_PART_MAX];
    memcpy(sorted, r->index, r->count * sizeof *sorted);
    qsort(sorted, r->count, sizeof *sorted, lower_first);
    for (unsigned w = 0; w < all->workers; w++) {
        const struct clock_heap *waiting = &all->worker[w].waiting;
        for (size_t i = 0; i < waiting->count; i++) {
            struct intent_batch *b = waiting->due[i].what;
            if (b->end == LOCUS_FOREVER) take_out(b, sorted, r->count);
        }
    }
    add_part(run, INTENT_UNKEEPS, r);
}

static void take_in(struct intents *all, const struct intent_stream *s, const struct intent_part *r)
{
    struct worker_intents *w = &all->worker[s->worker];
    struct intent_batch *b = new_batch(r->start, r->end, r->count);
    b->count = r->count;
    all->taken += r->count;
    if (r->kind == PART_WAITING) b->waiting = r->count;
    memcpy(b->index, r->index, r->count * sizeof *b->index);
    push(&w->waiting, r->start, b);
}

static void drop_parts(struct intents *all, struct intent_stream *s, struct run *run)
{
    struct intent_part r;
    stream_begin_reading(s);
    while (stream_read(s, &r)) {
        if (r.kind == PART_WAITING) __atomic_fetch_sub(all->node_keys, r.count, __ATOMIC_RELAXED);
        if (r.end == LOCUS_FOREVER) add_part(run, INTENT_KEEPS, &r);
    }
}

/* The last one to arrive comes first. */
static void welcome(struct intents *all)
{
    if (!__atomic_load_n(&all->arrived, __ATOMIC_RELAXED)) return;
    struct intent_stream *s = __atomic_exchange_n(&all->arrived, NULL, __ATOMIC_ACQUIRE),
                         *in_order = NULL;
    while (s) {
        struct intent_stream *next = s->next;
        s->next = in_order;
        in_order = s;
        s = next;
    }
    while (in_order) {
        struct intent_stream *next = in_order->next, **end = &all->worker[in_order->worker].stream;
        while (*end) end = &(*end)->next;
        in_order->next = NULL;
        *end = in_order;
        in_order = next;
    }
}

/* A worker's loaders have closed before it, and what they signaled belongs to the worker. Streams
 * of its next opening come after all of these in the list: none of them was read yet. */
static void end_opening(struct intents *all, struct intent_stream *ended, struct run *run)
{
    welcome(all); /* a loader may have come and gone since this turn began */
    struct worker_intents *w = &all->worker[ended->worker];
    for (struct intent_stream *s = w->stream; s; s = s->next) {
        if (s->opening != ended->opening) continue;
        if (s != ended) drop_parts(all, s, run);
        s->has_ended = true;
    }
    end_worker(all, w, run);
}

static void heed(struct intents *all, const struct intent_stream *s, const struct intent_part *r,
                 struct run *run)
{
    if (r->end == INTENT_TAKES_BACK)
        take_back(all, r, run);
    else if (r->end == LOCUS_FOREVER && r->kind == PART_BEGUN)
        add_part(run, INTENT_KEEPS, r);
    else
        take_in(all, s, r);
}

static void read_stream(struct intents *all, struct intent_stream *s, struct run *run)
{
    struct intent_part r;
    stream_begin_reading(s);
    while (stream_read(s, &r)) {
        if (r.kind == PART_END_OF_WORKER)
            end_opening(all, s, run);
        else if (r.count > 0)
            heed(all, s, &r, run);
    }
}

static void take_over(void *worker, uint64_t index, locus_clock start, locus_clock end)
{
    struct worker_intents *w = worker;
    struct intent_batch *b = new_batch(start, end, 1);
    b->index[b->count++] = index;
    push(&w->waiting, start, b);
}

/* What it has raised goes on without it. */
static void free_stream(struct intents *all, struct intent_stream *s)
{
    stream_raised(s, clock_of(all, s->worker), take_over, &all->worker[s->worker]);
    stream_free(s);
}

static void read_streams(struct intents *all, struct run *run)
{
    welcome(all);
    for (unsigned worker = 0; worker < all->workers; worker++) {
        for (struct intent_stream **at = &all->worker[worker].stream; *at;) {
            struct intent_stream *s = *at;
            bool closed = stream_is_closed(s);
            read_stream(all, s, run);
            if (closed) {
                *at = s->next;
                free_stream(all, s);
            } else {
                at = &s->next;
            }
        }
    }
}

/* ---- the shard: turns ---- */

static void begin_due(struct intents *all, unsigned worker, locus_clock lookahead, bool piggybacks,
                      struct run *run)
{
    struct worker_intents *w = &all->worker[worker];
    locus_clock now = clock_of(all, worker);
    while (w->waiting.count > 0 && clock_heap_first(&w->waiting) - now < lookahead) {
        struct intent_batch *b = pop_waiting(all, w);
        if (b->end <= now && !outlasts(w, b, now)) {
            free(b);
            continue;
        }
        if (b->end == LOCUS_FOREVER) {
            add_batch(run, INTENT_KEEPS, b, false);
            free(b);
            continue;
        }
        add_batch(run, INTENT_BEGINS, b, piggybacks);
        activate(w, b);
    }
    merge(w, run);
}

/* Workers read it all the time: written only when it changes. */
static void publish(locus_clock *to, locus_clock clock)
{
    if (__atomic_load_n(to, __ATOMIC_RELAXED) != clock)
        __atomic_store_n(to, clock, __ATOMIC_RELAXED);
}

/* First what is due, of all workers, then what piggybacks: a key that several want is not late for
 * the first. */
static void begin_all(struct intents *all, struct run *run)
{
    for (unsigned worker = 0; worker < all->workers; worker++)
        begin_due(all, worker, all->worker[worker].lookahead, false, run);
    for (unsigned worker = 0; worker < all->workers; worker++) {
        const struct worker_intents *w = &all->worker[worker];
        if (w->ahead > 0) begin_due(all, worker, w->lookahead + w->ahead, true, run);
    }
}

static void finish(struct intents *all, unsigned worker, struct run *run)
{
    struct worker_intents *w = &all->worker[worker];
    struct announced *said = &all->announced[worker];
    locus_clock lookahead = w->lookahead;
    end_due(w, clock_of(all, worker), run);
    locus_clock start = clock_heap_first(&w->waiting), due = clock_heap_first(&w->active);
    if (start != INT64_MAX && start - lookahead + 1 < due) due = start - lookahead + 1;
    publish(&said->lookahead, lookahead);
    publish(&said->due, due);
}

void intents_turn(struct intents *all, intents_hear *hear, void *context)
{
    struct run run;
    run.hear = hear; /* no initializer: it would fill the events with zeros */
    run.context = context;
    run.count = 0;
    read_streams(all, &run);
    begin_all(all, &run);
    for (unsigned worker = 0; worker < all->workers; worker++) finish(all, worker, &run);
    pass_on(&run);
}

bool intents_have_news(const struct intents *all)
{
    if (__atomic_load_n(&all->arrived, __ATOMIC_RELAXED)) return true;
    for (unsigned worker = 0; worker < all->workers; worker++)
        for (const struct intent_stream *s = all->worker[worker].stream; s; s = s->next)
            if (stream_has_unread(s)) return true;
    /* As in intents_advanced(), from the other side. */
    for (unsigned worker = 0; worker < all->workers; worker++)
        if (__atomic_load_n(all->clock[worker], __ATOMIC_SEQ_CST) >=
            __atomic_load_n(&all->announced[worker].due, __ATOMIC_RELAXED))
            return true;
    return false;
}

/* ---- life ---- */

int intents_init(struct intents *all, uint64_t keys, unsigned workers,
                 const locus_clock *const *clock, uint64_t *node_keys)
{
    *all =
        (struct intents){.keys = keys, .workers = workers, .clock = clock, .node_keys = node_keys};
    all->worker = calloc(workers, sizeof *all->worker);
    all->announced = calloc(workers, sizeof *all->announced);
    if (!all->worker || !all->announced) {
        intents_fini(all);
        return -ENOMEM;
    }
    for (unsigned w = 0; w < workers; w++) all->announced[w] = (struct announced){.due = INT64_MAX};
    return 0;
}

static void free_heap(struct clock_heap *h)
{
    while (h->count > 0) free(pop(h));
    clock_heap_fini(h);
}

void intents_fini(struct intents *all)
{
    if (all->worker) welcome(all);
    for (unsigned w = 0; all->worker && w < all->workers; w++) {
        for (struct intent_stream *s = all->worker[w].stream, *next; s; s = next) {
            next = s->next;
            stream_free(s);
        }
        free_heap(&all->worker[w].waiting);
        free_heap(&all->worker[w].active);
    }
    free(all->worker);
    free(all->announced);
    *all = (struct intents){0};
}
