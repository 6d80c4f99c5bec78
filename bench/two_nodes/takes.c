/* Bringing rows to one's own node, one call after the other or several in flight. */
#include "bench.h"

#include "../common/clock.h"

struct flight {
    struct node *node;
    uint64_t clock_cost;
    struct latency *times;
    locus_ticket ticket[FLIGHT_MAX];
    uint64_t began[FLIGHT_MAX]; /* 0: nobody flies */
};

static void record(struct flight *f, uint64_t began)
{
    uint64_t took = clock_ns() - began;
    if (f->times) latency_record(f->times, took > f->clock_cost ? took - f->clock_cost : 0);
}

static void land(struct flight *f, unsigned place)
{
    if (f->began[place] == 0) return;
    must(locus_wait(f->node->worker, f->ticket[place]), "locus_wait");
    record(f, f->began[place]);
    f->began[place] = 0;
}

static void start(struct flight *f, unsigned place, const locus_key *keys, size_t n)
{
    land(f, place);
    f->began[place] = clock_ns();
    must(locus_localize_async(f->node->worker, keys, n, &f->ticket[place]), "locus_localize_async");
}

static void take_now(struct flight *f, const locus_key *keys, size_t n)
{
    uint64_t began = clock_ns();
    must(locus_localize(f->node->worker, keys, n), "locus_localize");
    record(f, began);
}

struct taken take_rows(struct node *n, const struct take *t, uint64_t clock_cost,
                       struct latency *times)
{
    struct flight f = {.node = n, .clock_cost = clock_cost, .times = times};
    const locus_key *keys = n->keys[t->length] + t->first;
    uint64_t began = clock_ns(), done = 0;
    for (unsigned place = 0; done < t->count; place = (place + 1) % FLIGHT_MAX) {
        uint64_t left = t->count - done, some = left < t->per_call ? left : t->per_call;
        if (t->until_ns && clock_ns() >= t->until_ns) break;
        if (t->flight > 1)
            start(&f, place, keys + done, some);
        else
            take_now(&f, keys + done, some);
        done += some;
    }
    for (unsigned place = 0; place < FLIGHT_MAX; place++) land(&f, place);
    return (struct taken){.ns = clock_ns() - began, .keys = done};
}
