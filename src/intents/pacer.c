#include "intents/pacer.h"

#include <errno.h>
#include <math.h>
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

/* ---- lookahead ---- */

/* The normal distribution's quantile at LOOKAHEAD_QUANTILE. */
#define NORMAL_QUANTILE 3.719016485455709

/* Sums beyond it would take longer than what a round sends: this is called for every round. */
#define EXACT_MEAN_MAX 100.0

/* Sums the probabilities of 0, 1, 2, … */
static locus_clock exact(double mean)
{
    double term = exp(-mean), sum = term;
    locus_clock k = 0;
    /* Rounding alone may keep the sum below the quantile; but the quantile is never 10 deviations
     * and 20 clocks above the mean. */
    locus_clock end = (locus_clock)(mean + 10 * sqrt(mean) + 20);
    while (sum < LOOKAHEAD_QUANTILE && k < end) {
        k++;
        term *= mean / (double)k;
        sum += term;
    }
    return k;
}

/* Cornish and Fisher's expansion to the distribution's skewness and kurtosis. */
static locus_clock expanded(double mean)
{
    const double z = NORMAL_QUANTILE;
    double deviation = sqrt(mean);
    return (locus_clock)ceil(mean + z * deviation + (z * z - 1) / 6 +
                             (z - z * z * z) / (72 * deviation) - 0.5);
}

locus_clock lookahead_quantile(double mean)
{
    if (!(mean > 0)) return 0;
    return mean <= EXACT_MEAN_MAX ? exact(mean) : expanded(mean);
}

void lookahead_init(struct lookahead *l)
{
    *l = (struct lookahead){.rate = LOOKAHEAD_FIRST_RATE,
                            .lookahead = lookahead_quantile(2 * LOOKAHEAD_FIRST_RATE)};
}

void lookahead_end(struct lookahead *l, locus_clock now)
{
    /* the worker computes, pauses, or began anew: Section 4.2.2 keeps the estimate */
    if (now <= l->at_start) {
        l->rounds_of_clock += now == l->at_start;
        return;
    }
    double passed = (double)(now - l->at_start) / (1 + (double)l->rounds_of_clock);
    l->rounds_of_clock = 0;
    l->rate = (1 - LOOKAHEAD_SMOOTHING) * l->rate + LOOKAHEAD_SMOOTHING * passed;
    l->lookahead = lookahead_quantile(2 * (l->rate > passed ? l->rate : passed));
    if (l->lookahead < LOOKAHEAD_MIN) l->lookahead = LOOKAHEAD_MIN;
}

/* ---- the margin ---- */

void margin_init(struct margin *m, bool may_widen)
{
    *m = (struct margin){.factor = 1, .most = may_widen ? MARGIN_MAX : 1};
}

void margin_adjust(struct margin *m)
{
    if (m->was_late) m->factor += MARGIN_STEP;
    m->factor -= MARGIN_STEP * (1 - LOOKAHEAD_QUANTILE) * m->begun;
    if (m->factor < 1) m->factor = 1;
    if (m->factor > m->most) m->factor = m->most;
    m->begun = 0;
    m->was_late = false;
}

locus_clock margin_of(const struct margin *m, locus_clock lookahead)
{
    if (m->factor <= 1) return lookahead;
    double wide = m->factor * (double)lookahead;
    return wide < 0x1p62 ? (locus_clock)wide : INT64_MAX / 2;
}
