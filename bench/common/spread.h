/*
 * spread.h - what several repetitions of one measurement say together.
 *
 * Callers   any thread
 * Memory    the caller's; at most SPREAD_MAX repetitions
 * Waiting   never
 */
#ifndef BENCH_SPREAD_H
#define BENCH_SPREAD_H

#include <stddef.h>

enum { SPREAD_MAX = 99 };

/* The median, and not the mean, because one preempted repetition would spoil a mean. */
struct spread {
    double median;
    double mad; /* median distance from the median: half of the repetitions lie within it */
    double min, max;
};

struct spread spread_of(const double *values, size_t count);
/* Of the values, each divided by the floor of the same repetition; 0 where that is not known. */
struct spread spread_of_ratios(const double *values, const double *floor, size_t count);

#endif
