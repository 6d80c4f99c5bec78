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

static inline uint64_t clock_read(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Nanoseconds on a clock that never runs backwards. */
static inline uint64_t clock_ns(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

void clock_sleep_until(uint64_t ns);

/* What two readings around nothing differ by (median): to be taken off the time of a single call.
 * 0 until clock_measure(), which takes about 1 ms. */
extern uint64_t clock_cost_ns;
void clock_measure(void);

#endif
