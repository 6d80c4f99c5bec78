#include "intents/pacer.h"

#include <errno.h>
#include <stdlib.h>

int pacer_init(struct pacer *p, unsigned workers)
{
    p->workers = workers;
    p->then = calloc(workers, sizeof *p->then);
    p->ahead = calloc(workers, sizeof *p->ahead);
    return p->then && p->ahead ? 0 : -ENOMEM;
}

void pacer_fini(struct pacer *p)
{
    free(p->then);
    free(p->ahead);
    *p = (struct pacer){0};
}

void pacer_spent(struct pacer *p, uint64_t cpu_ns, uint64_t rounds, uint64_t bytes)
{
    p->spent_rounds += rounds;
    p->cost_ns += cpu_ns + rounds * p->round_ns + bytes * p->kib_ns / 1024;
}

/* Those of others that end here are about as many as ours. */
static uint64_t pause_for_rounds(const struct pacer *p)
{
    uint64_t pause = PACER_ROUNDS_FACTOR * 2 * p->spent_rounds * p->round_ns;
    if (!p->rounds_are_sparse || p->has_own_core) return 0;
    return pause < PACER_ROUNDS_NS_MAX ? pause : PACER_ROUNDS_NS_MAX;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t take_pause(struct pacer *p)
{
    unsigned factor = p->has_own_core ? PACER_FACTOR_OWN : PACER_FACTOR;
    uint64_t pause = larger(factor * p->cost_ns, pause_for_rounds(p));
    p->cost_ns = p->spent_rounds = 0;
    return larger(pause, p->pause_ns);
}

/* The clocks that passed since the last time, of each worker; returns the most. */
static locus_clock take_clocks(struct pacer *p, const locus_clock *const *clock,
                               locus_clock *passed)
{
    locus_clock most = 0;
    for (unsigned w = 0; w < p->workers; w++) {
        locus_clock now = clock ? __atomic_load_n(clock[w], __ATOMIC_RELAXED) : p->then[w];
        passed[w] = now - p->then[w];
        p->then[w] = now;
        if (passed[w] > most) most = passed[w];
    }
    return most;
}

/* So long do a few clocks take, by those that have passed since some last did. */
static uint64_t some_clocks_ns(struct pacer *p, uint64_t now_ns, locus_clock passed)
{
    if (p->clocked_ns && passed > 0) p->clock_ns = (now_ns - p->clocked_ns) / (uint64_t)passed;
    if (!p->clocked_ns || passed > 0) p->clocked_ns = now_ns;
    if (p->has_own_core) return 0;
    if (p->clock_ns > PACER_CLOCKS_NS_MAX / PACER_CLOCKS) return PACER_CLOCKS_NS_MAX;
    return PACER_CLOCKS * p->clock_ns;
}

void pacer_carries(struct pacer *p, uint64_t intents, unsigned rounds)
{
    p->intents += intents;
    p->rounds += rounds;
    if (p->rounds < PACER_JUDGED_ROUNDS) return;
    p->rounds_are_sparse = p->intents <= PACER_FEW_INTENTS * p->rounds;
    p->intents = p->rounds = 0;
}

/* Intents piggyback if they begin within two pauses like the one that begins now. The number of
 * clocks is estimated from those that passed since the last synchronization, and is at most twice
 * that number. */
void pacer_pause(struct pacer *p, uint64_t now_ns, const locus_clock *const *clock)
{
    locus_clock *passed = p->ahead; /* until the pause is known */
    uint64_t clocks = some_clocks_ns(p, now_ns, take_clocks(p, clock, passed)),
             pause = larger(take_pause(p), clocks);
    uint64_t since = now_ns - p->began_ns;
    double pauses = pause < since ? (double)pause / (double)since : 1;
    p->ahead_ns = PACER_AHEAD_PAUSES * (pause < since ? pause : since);
    p->lasts_ns = pause;
    for (unsigned w = 0; w < p->workers; w++)
        p->ahead[w] = passed[w] > 0 ? (locus_clock)(PACER_AHEAD_PAUSES * pauses * (double)passed[w])
                                    : 0;
    p->began_ns = now_ns;
    p->due_ns = now_ns + pause;
}
