/*
 * clock.h - time for measurements.
 *
 * Callers   benchmarks, any thread
 * Memory    none
 * Waiting   never
 */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds on a clock that never runs backwards. */
static inline uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* What two readings around nothing differ by (median): to be taken off the time of a single call.
 * Takes about 1 ms. */
uint64_t clock_cost_ns(void);

#endif
