/* Node 0 has sudden intents, one after the other, for rows that are at the other node; how long
 * until they are here? */
#include "bench.h"

#include "../common/clock.h"

#include <sched.h>
#include <stdlib.h>

/* Looks without a pause before the processor goes to whoever else wants it, perhaps the shard. */
enum { LOOKS = 200 };

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
    size_t count, some = n->load->rows, at = 0, most = some == 1 ? 4000 : SIZE_MAX;
    locus_key *keys = keys_elsewhere(n, &count);
    float *row = values_alloc(n, 1);
    must(locus_barrier(n->worker), "locus_barrier");
    timed_begin(n);
    if (n->load->period_us && most > 500) most = 500;
    uint64_t until = clock_ns() + (uint64_t)(seconds_of_part() * 1e9);
    for (size_t i = 0; n->rank == 0 && at + some <= count && i < most && clock_ns() < until;
         i++, at += some) {
        if (n->load->period_us) clock_sleep_until(clock_ns() + n->load->period_us * UINT64_C(1000));
        latency_record(&times, bring(n, keys + at, some, row));
    }
    must(locus_barrier(n->worker), "locus_barrier");
    timed_end(n);
    if (n->rank == 0) {
        note_percentile(n, "shortest_seconds", &times, 0);
        note_percentile(n, "p50_seconds", &times, 50);
        note_percentile(n, "p99_seconds", &times, 99);
    }
    free(row);
    free(keys);
}
