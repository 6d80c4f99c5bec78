/*
 * times.h - how long the calls of a cell took, repetition by repetition.
 *
 * Callers   one thread a struct times
 * Memory    the caller's; zero in the beginning
 * Waiting   never
 */
#ifndef BENCH_TIMES_H
#define BENCH_TIMES_H

#include "latency.h"
#include "spread.h"

#include <stdint.h>

/* In nanoseconds. */
struct times {
    double p50[SPREAD_MAX], p99[SPREAD_MAX], p999[SPREAD_MAX]; /* of each repetition */
    uint64_t shortest, longest;                                /* of all */
};

void times_note(struct times *t, const struct latency *latency, unsigned repetition);

#endif
