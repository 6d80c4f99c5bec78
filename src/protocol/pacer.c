#include "protocol/pacer.h"

#include <errno.h>
#include <stdlib.h>

int pacer_init(struct pacer *g, unsigned workers)
{
    g->workers = workers;
    g->then = calloc(workers, sizeof *g->then);
    g->ahead = calloc(workers, sizeof *g->ahead);
    return g->then && g->ahead ? 0 : -ENOMEM;
}

void pacer_fini(struct pacer *g)
{
    free(g->then);
    free(g->ahead);
    *g = (struct pacer){0};
}

static uint64_t platform_ns(const struct pacer *g, uint64_t rounds, uint64_t bytes)
{
    return rounds * g->round_ns + bytes * g->kib_ns / 1024;
}

void pacer_spent(struct pacer *g, uint64_t cpu_ns, uint64_t rounds, uint64_t bytes)
{
    g->spent_rounds += rounds;
    g->cost_ns += cpu_ns + platform_ns(g, rounds, bytes);
}

static uint64_t factor(const struct pacer *g)
{
    return g->has_own_core ? PACER_FACTOR_OWN : PACER_FACTOR;
}

/* Time without rounds of our own, in which none had to wait, pays for serving others. Otherwise a
 * node that has only served for a long time would owe a long pause. */
void pacer_served(struct pacer *g, uint64_t now_ns, uint64_t cpu_ns, unsigned rounds,
                  uint64_t bytes)
{
    uint64_t since = g->due_ns > g->served_at_ns ? g->due_ns : g->served_at_ns;
    uint64_t paid = now_ns > since ? (now_ns - since) / factor(g) : 0;
    g->served_ns -= paid < g->served_ns ? paid : g->served_ns;
    g->served_ns += cpu_ns + platform_ns(g, rounds, bytes);
    g->served_at_ns = now_ns;
}

/* Those of others that end here are about as many as ours. */
static uint64_t pause_for_rounds(const struct pacer *g)
{
    uint64_t pause = PACER_ROUNDS_FACTOR * 2 * g->spent_rounds * g->round_ns;
    if (!g->rounds_are_sparse || g->has_own_core) return 0;
    return pause < PACER_ROUNDS_NS_MAX ? pause : PACER_ROUNDS_NS_MAX;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t take_pause(struct pacer *g)
{
    uint64_t most = g->cost_ns + PACER_SERVED_NS_MAX,
             served = g->served_ns < most ? g->served_ns : most;
    uint64_t pause = larger(factor(g) * (g->cost_ns + served), pause_for_rounds(g));
    g->cost_ns = g->spent_rounds = g->served_ns = 0;
    return larger(pause, g->pause_ns);
}

/* The clocks that passed since the last time, of each worker; returns the most. */
static locus_clock take_clocks(struct pacer *g, const locus_clock *const *clock,
                               locus_clock *passed)
{
    locus_clock most = 0;
    for (unsigned w = 0; w < g->workers; w++) {
        locus_clock now = clock ? __atomic_load_n(clock[w], __ATOMIC_RELAXED) : g->then[w];
        passed[w] = now - g->then[w];
        g->then[w] = now;
        if (passed[w] > most) most = passed[w];
    }
    return most;
}

/* So long do a few clocks take, by those that have passed since some last did. */
static uint64_t some_clocks_ns(struct pacer *g, uint64_t now_ns, locus_clock passed)
{
    if (g->clocked_ns && passed > 0) g->clock_ns = (now_ns - g->clocked_ns) / (uint64_t)passed;
    if (!g->clocked_ns || passed > 0) g->clocked_ns = now_ns;
    if (g->has_own_core) return 0;
    if (g->clock_ns > PACER_CLOCKS_NS_MAX / PACER_CLOCKS) return PACER_CLOCKS_NS_MAX;
    return PACER_CLOCKS * g->clock_ns;
}

void pacer_carries(struct pacer *g, uint64_t intents, unsigned rounds)
{
    g->intents += intents;
    g->rounds += rounds;
    if (g->rounds < PACER_JUDGED_ROUNDS) return;
    g->rounds_are_sparse = g->intents <= PACER_FEW_INTENTS * g->rounds;
    g->intents = g->rounds = 0;
}

/* Intents piggyback if they begin within two pauses like the one that begins now. The number of
 * clocks is estimated from those that passed since the last synchronization, and is at most twice
 * that number. */
void pacer_pause(struct pacer *g, uint64_t now_ns, const locus_clock *const *clock)
{
    locus_clock *passed = g->ahead; /* until the pause is known */
    uint64_t clocks = some_clocks_ns(g, now_ns, take_clocks(g, clock, passed)),
             pause = larger(take_pause(g), clocks);
    uint64_t since = now_ns - g->began_ns;
    double pauses = pause < since ? (double)pause / (double)since : 1;
    g->ahead_ns = PACER_AHEAD_PAUSES * (pause < since ? pause : since);
    g->lasts_ns = pause;
    for (unsigned w = 0; w < g->workers; w++)
        g->ahead[w] = passed[w] > 0 ? (locus_clock)(PACER_AHEAD_PAUSES * pauses * (double)passed[w])
                                    : 0;
    g->began_ns = now_ns;
    g->due_ns = now_ns + pause;
}
