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

#include <stdint.h>

/* In nanoseconds. */
struct times {
    double p50[REPETITIONS_MAX], p99[REPETITIONS_MAX], p999[REPETITIONS_MAX];
    uint64_t shortest, longest; /* of all repetitions */
};

void times_note(struct times *t, const struct latency *latency, unsigned repetition);

/* Members of the line that run_cell() began. */
void times_json(struct run *r, const struct times *t);

#endif
