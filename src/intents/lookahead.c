#include "intents/lookahead.h"

#include <math.h>

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

void lookahead_begin(struct lookahead *l, locus_clock now)
{
    l->at_start = now;
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
