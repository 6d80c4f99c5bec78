/* Node 0 has sudden intents, one after the other, for rows that are at the other node; how long
 * until they are here? */
#include "bench.h"

#include "../common/clock.h"

#include <sched.h>
#include <stdlib.h>

/* Looks without a pause before the processor goes to whoever else wants it, perhaps the shard. */
enum { LOOKS = 200 };

static void note_times(struct outcome *o, const struct latency *times)
{
    o->value[SHORTEST] = (double)latency_percentile(times, 0) / 1e9;
    o->value[P50] = (double)latency_percentile(times, 50) / 1e9;
    o->value[P99] = (double)latency_percentile(times, 99) / 1e9;
}

static uint64_t bring(struct node *n, const locus_key *keys, size_t count, float *row)
{
    locus_clock now = locus_current_clock(n->worker);
    uint64_t began = clock_ns();
    must(locus_intent(n->worker, keys, count, now, now + 1), "locus_intent");
    for (size_t i = 0, looks = 0; i < count; i++)
        while (locus_pull_local(n->worker, keys[i], row))
            if (++looks > LOOKS) sched_yield();
    uint64_t ns = clock_ns() - began;
    locus_advance_clock(n->worker);
    return ns;
}

void arrival_run(struct node *n)
{
    static struct latency times;
    size_t count, some = n->cell->rows, at = 0, most = some == 1 ? 4000 : SIZE_MAX;
    locus_key *keys = keys_elsewhere(n, &count);
    float *row = must_alloc(locus_length(n->locus, 0) * sizeof *row);
    must(locus_barrier(n->worker), "locus_barrier");
    timed_begin(n);
    if (n->cell->period_us && most > 500) most = 500;
    uint64_t until = clock_ns() + (uint64_t)(seconds_of(n->is_quick) * 1e9);
    for (size_t i = 0; n->rank == 0 && at + some <= count && i < most && clock_ns() < until;
         i++, at += some) {
        if (n->cell->period_us) sleep_until(clock_ns() + n->cell->period_us * UINT64_C(1000));
        latency_record(&times, bring(n, keys + at, some, row));
    }
    must(locus_barrier(n->worker), "locus_barrier");
    timed_end(n);
    if (n->rank == 0) note_times(n->outcome, &times);
    free(row);
    free(keys);
}
