/*
 * latency.h - records the times of single calls and tells their percentiles.
 *
 * A histogram with 128 buckets for every doubling: each time is known to 0.8 %, whatever its size,
 * and the memory stays the same (37 KiB) however many calls are recorded.
 *
 * Callers   one thread a histogram
 * Memory    the caller's
 * Waiting   never
 * Life      clear, then record; percentiles at any time
 */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include "clock.h"

#include <stdint.h>
#include <string.h>

enum {
    LATENCY_STEP_BITS = 7,
    LATENCY_STEPS = 1 << LATENCY_STEP_BITS,
    LATENCY_DOUBLINGS = 36, /* up to 2^42 ns, more than an hour */
    LATENCY_BUCKETS = LATENCY_STEPS * (LATENCY_DOUBLINGS + 1),
};

struct latency {
    uint64_t calls;
    uint64_t longest_ns;
    uint64_t buckets[LATENCY_BUCKETS];
};

static inline void latency_clear(struct latency *l)
{
    memset(l, 0, sizeof *l);
}

/* Below 128 ns each value has its own bucket; above, the 7 bits behind the leading one choose
 * it. */
static inline unsigned latency_bucket(uint64_t ns)
{
    if (ns < LATENCY_STEPS) return (unsigned)ns;
    unsigned shift = 63u - (unsigned)__builtin_clzll(ns) - LATENCY_STEP_BITS;
    unsigned bucket = (shift + 1) * LATENCY_STEPS + (unsigned)((ns >> shift) & (LATENCY_STEPS - 1));
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

static inline void latency_record(struct latency *l, uint64_t ns)
{
    l->buckets[latency_bucket(ns)]++;
    l->calls++;
    if (ns > l->longest_ns) l->longest_ns = ns;
}

/* A call that began then is done now; the clock's own time is taken off. Returns this moment. */
static inline uint64_t latency_since(struct latency *l, uint64_t began)
{
    uint64_t now = clock_ns(), took = now - began;
    latency_record(l, took > clock_cost_ns ? took - clock_cost_ns : 0);
    return now;
}

/* The time that `percent` of the calls did not exceed (middle of its bucket); 0 when none was
 * recorded. */
uint64_t latency_percentile(const struct latency *l, double percent);

#endif
