#include "actors/timing.h"

#include <math.h>

/* Sums the probabilities of 0, 1, 2, … In logarithms, or the first ones would vanish. */
static locus_clock exact(double mean, double p)
{
    double log_term = -mean, sum = exp(log_term);
    locus_clock k = 0;
    /* The sum may stop short of p by rounding alone; 40 deviations above the mean nothing is left. */
    locus_clock end = (locus_clock)(mean + 40 * sqrt(mean) + 40);
    while (sum < p && k < end) {
        k++;
        log_term += log(mean / (double)k);
        sum += exp(log_term);
    }
    return k;
}

/* The normal quantile by bisection of the complementary error function. */
static double normal_quantile(double p)
{
    double low = -40, high = 40;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        if (0.5 * erfc(-middle / sqrt(2)) < p)
            low = middle;
        else
            high = middle;
    }
    return high;
}

locus_clock timing_quantile(double mean, double p)
{
    if (!(mean > 0)) return 0;
    if (mean <= 1000) return exact(mean, p);
    return (locus_clock)ceil(mean + normal_quantile(p) * sqrt(mean) - 0.5);
}

void timing_init(struct timing *t)
{
    *t = (struct timing){.rate = TIMING_FIRST_RATE, .window = timing_quantile(2 * TIMING_FIRST_RATE, TIMING_QUANTILE)};
}

void timing_begin(struct timing *t, locus_clock now)
{
    t->at_start = now;
}

void timing_end(struct timing *t, locus_clock now)
{
    double passed = (double)(now - t->at_start);
    if (now <= t->at_start) return; /* the worker paused, or began anew: Section 4.2.2 keeps the estimate */
    t->rate = (1 - TIMING_SMOOTHING) * t->rate + TIMING_SMOOTHING * passed;
    t->window = timing_quantile(2 * (t->rate > passed ? t->rate : passed), TIMING_QUANTILE);
}
