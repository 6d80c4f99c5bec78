/*
 * histogram.h - durations, counted in powers of two of nanoseconds.
 *
 * Callers   one thread adds, any thread reads
 * Memory    the caller's
 * Waiting   never
 * Life      zeros, histogram_add, histogram_sum
 */
#ifndef LOCUS_BASE_HISTOGRAM_H
#define LOCUS_BASE_HISTOGRAM_H

#include "locus.h"

static inline unsigned histogram_bucket(uint64_t ns)
{
    unsigned bucket = ns < 2 ? 0 : 63 - (unsigned)__builtin_clzll(ns);
    return bucket < LOCUS_HISTOGRAM_BUCKETS ? bucket : LOCUS_HISTOGRAM_BUCKETS - 1;
}

static inline void histogram_add(struct locus_histogram *h, uint64_t ns)
{
    unsigned bucket = histogram_bucket(ns);
    __atomic_store_n(&h->count[bucket], h->count[bucket] + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&h->sum, h->sum + ns, __ATOMIC_RELAXED);
}

/* Adds what `from` has counted so far. */
static inline void histogram_sum(struct locus_histogram *to, const struct locus_histogram *from)
{
    for (unsigned i = 0; i < LOCUS_HISTOGRAM_BUCKETS; i++)
        to->count[i] += __atomic_load_n(&from->count[i], __ATOMIC_RELAXED);
    to->sum += __atomic_load_n(&from->sum, __ATOMIC_RELAXED);
}

static inline uint64_t histogram_count(const struct locus_histogram *h)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < LOCUS_HISTOGRAM_BUCKETS; i++)
        count += __atomic_load_n(&h->count[i], __ATOMIC_RELAXED);
    return count;
}

#endif
