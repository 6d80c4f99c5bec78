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
#include "run.h"
#include "table.h"

#include <stdbool.h>
#include <stdint.h>

/* In nanoseconds. */
struct times {
    double p50[SPREAD_MAX], p99[SPREAD_MAX], p999[SPREAD_MAX]; /* of each repetition */
    uint64_t shortest, longest;                                /* of all */
};

void times_note(struct times *t, const struct latency *latency, unsigned repetition);

/* In microseconds: the shortest, p50, p99 and p99.9; "-" for those that say nothing. */
void times_add(struct table *table, const struct run *r, const struct times *t, bool has_times,
               bool has_p99, bool has_p999);
/* Percentiles and the shortest one, in nanoseconds. */
void times_json(const struct run *r, const struct times *t, bool has_p999);

#endif
