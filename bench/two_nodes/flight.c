/* Calls of a worker: each is waited for, or several are in flight, and the oldest is waited for
 * before another is made. */
#include "bench.h"

#include "../common/clock.h"

struct flight {
    locus_worker *worker;
    enum step_kind kind; /* of no access: localize */
    unsigned ahead;      /* 1: synchronous calls */
    float *values;
    size_t values_per_call;
    struct latency *times; /* NULL: of nobody */
    uint64_t calls;
    locus_ticket ticket[FLIGHT_MAX];
    uint64_t began[FLIGHT_MAX]; /* 0: nobody flies */
};

static int call(const struct flight *f, const locus_key *keys, size_t n)
{
    switch (f->kind) {
    case PULL: return locus_pull(f->worker, keys, n, f->values);
    case PUSH: return locus_push(f->worker, keys, n, f->values);
    case SET: return locus_set(f->worker, keys, n, f->values);
    default: return locus_localize(f->worker, keys, n);
    }
}

static int call_async(struct flight *f, unsigned place, const locus_key *keys, size_t n)
{
    float *values = f->values + place * f->values_per_call;
    locus_ticket *t = &f->ticket[place];
    switch (f->kind) {
    case PULL: return locus_pull_async(f->worker, keys, n, values, t);
    case PUSH: return locus_push_async(f->worker, keys, n, values, t);
    case SET: return locus_set_async(f->worker, keys, n, values, t);
    default: return locus_localize_async(f->worker, keys, n, t);
    }
}

static void record(const struct flight *f, uint64_t began)
{
    if (f->times) latency_since(f->times, began);
}

static void land(struct flight *f, unsigned place)
{
    if (f->began[place] == 0) return;
    must(locus_wait(f->worker, f->ticket[place]), "locus_wait");
    record(f, f->began[place]);
    f->began[place] = 0;
}

static void fly(struct flight *f, const locus_key *keys, size_t n)
{
    unsigned place = (unsigned)(f->calls++ % f->ahead);
    if (f->ahead == 1) {
        uint64_t began = clock_ns();
        must(call(f, keys, n), "a call");
        record(f, began);
        return;
    }
    land(f, place);
    f->began[place] = clock_ns();
    must(call_async(f, place, keys, n), "a call");
}

static void land_all(struct flight *f)
{
    for (unsigned i = 0; i < f->ahead; i++) land(f, (unsigned)((f->calls + i) % f->ahead));
}

/* ---- Bringing rows ---- */

struct taken take_rows(struct node *n, const struct take *t, struct latency *times)
{
    static float none;
    struct flight f = {.worker = n->worker,
                       .kind = BY_BLOCKS,
                       .ahead = (unsigned)t->flight,
                       .values = &none,
                       .times = times};
    const locus_key *keys = n->keys[t->length] + t->first;
    uint64_t began = clock_ns(), done = 0;
    while (done < t->count && !(t->until_ns && clock_ns() >= t->until_ns)) {
        uint64_t left = t->count - done, some = left < t->per_call ? left : t->per_call;
        fly(&f, keys + done, some);
        done += some;
    }
    land_all(&f);
    return (struct taken){.ns = clock_ns() - began, .keys = done};
}

/* ---- Accessing rows of node 1 ---- */

static const locus_key *next_keys(const struct setting *at)
{
    static size_t next;
    if (next + at->keys > bench.node.count[at->length]) next = 0;
    next += at->keys;
    return bench.node.keys[at->length] + next - at->keys;
}

/* For so long, at least a few calls however slow they are. Returns the seconds. */
static double calls_for(struct flight *f, const struct setting *at, uint64_t ns)
{
    uint64_t start = clock_ns();
    for (f->calls = 0; clock_ns() - start < ns || f->calls < FLIGHT_MAX;)
        fly(f, next_keys(at), at->keys);
    land_all(f);
    return (double)(clock_ns() - start) / 1e9;
}

void access_measure(struct cell *c, const struct step *s, const struct setting *at)
{
    static struct latency times;
    struct flight f = {.worker = bench.node.worker,
                       .kind = s->kind,
                       .ahead = s->flight,
                       .values = bench.values,
                       .values_per_call = at->keys * lengths[at->length],
                       .times = &times};
    bool single = at->keys == 1 && s->flight == 1;
    /* Ones, so that pushed values stay small numbers, whatever was received into the buffer. */
    for (size_t i = 0; s->kind != PULL && i < FLIGHT_MAX * f.values_per_call; i++) f.values[i] = 1;
    struct both before = both_now(bench.node.locus, bench.other);
    calls_for(&f, at, bench.warm_ns);
    *cell_count(c, "calls") += f.calls;
    latency_clear(&times);
    double seconds = calls_for(&f, at, single ? bench.single_ns : bench.timed_ns);
    struct both after = both_now(bench.node.locus, bench.other);
    *cell_count(c, "calls") += f.calls;
    *cell_figure(c, "rows_per_second") = (double)(f.calls * at->keys) / seconds;
    cell_times(c, &times);
    note_used(c, &before, &after);
}
