/* Training loops without the training: batches of keys, intent signaled ahead, clocks that
 * advance. */
#include "bench.h"

#include "../common/clock.h"
#include "../common/keys.h"
#include "../common/run.h"

#include <stdlib.h>

static void signal_batch(const struct node *n, const locus_key *keys, unsigned clock)
{
    must(locus_intent(n->worker, keys + (size_t)clock * BATCH_KEYS, BATCH_KEYS, clock, clock + 1),
         "locus_intent");
}

static void access_batch(const struct node *n, const locus_key *keys, float *values)
{
    must(locus_pull(n->worker, keys, BATCH_KEYS, values), "locus_pull");
    must(locus_push(n->worker, keys, BATCH_KEYS, values), "locus_push");
}

/* A third of them before the timed part. At 1 ms a clock and 200 accesses of three nodes: a million
 * in 1670. */
static unsigned clocks_of(const struct load *l)
{
    if (run.quick) return 150;
    if (l->nodes == 3) return 2700;
    return l->period_us ? 1500 : 6000;
}

void epoch_run(struct node *n)
{
    const struct load *l = n->load;
    unsigned clocks = clocks_of(l), warm = clocks / 3;
    locus_key *keys = keys_of_node(locus_keys(n->locus), l->nodes, (unsigned)n->rank,
                                   l->workload == OWN, (size_t)clocks * BATCH_KEYS);
    float *values = values_alloc(n, BATCH_KEYS);
    for (unsigned clock = 0; clock < l->offset && clock < clocks; clock++)
        signal_batch(n, keys, clock);
    must(locus_barrier(n->worker), "locus_barrier");
    uint64_t began = clock_ns(), timed = 0;
    for (unsigned clock = 0; clock < clocks; clock++) {
        if (clock == warm) {
            timed_begin(n);
            timed = clock_ns();
        }
        if (clock + l->offset < clocks) signal_batch(n, keys, clock + l->offset);
        if (l->period_us) clock_sleep_until(began + (uint64_t)clock * l->period_us * 1000);
        access_batch(n, keys + (size_t)clock * BATCH_KEYS, values);
        locus_advance_clock(n->worker);
    }
    n->seconds = (double)(clock_ns() - timed) / 1e9;
    must(locus_quiesce(n->worker), "locus_quiesce"); /* its bytes count */
    timed_end(n);
    free(values);
    free(keys);
}

/* The nodes have intent for the same rows, never two at once. */
void turns_run(struct node *n)
{
    unsigned turns = run.quick ? 12 : 60;
    locus_key keys[BATCH_KEYS];
    float *values = values_alloc(n, BATCH_KEYS);
    for (unsigned i = 0; i < BATCH_KEYS; i++) keys[i] = i;
    timed_begin(n);
    for (unsigned turn = 0; turn < turns; turn++) {
        locus_clock now = locus_current_clock(n->worker);
        if (turn % n->load->nodes == (unsigned)n->rank) {
            must(locus_intent(n->worker, keys, BATCH_KEYS, now, now + 1), "locus_intent");
            access_batch(n, keys, values);
        }
        locus_advance_clock(n->worker);
        must(locus_quiesce(n->worker), "locus_quiesce");
    }
    timed_end(n);
    free(values);
}
