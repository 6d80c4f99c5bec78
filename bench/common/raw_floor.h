/*
 * raw_floor.h - a floor of calls between nodes: a raw connection that carries as many bytes, timed
 * once in every repetition.
 *
 * Callers   the benchmark's thread
 * Memory    the caller's
 * Waiting   while it is timed
 */
#ifndef BENCH_RAW_FLOOR_H
#define BENCH_RAW_FLOOR_H

#include "raw.h"
#include "times.h"

#include <stdbool.h>

struct raw_floor {
    struct node_process *other; /* the connection's other end */
    struct raw_task task;
    void *buffer;
    uint64_t warm_ns, timed_ns, clock_cost;
};

/* What it comes to: of a ping-pong its times and how many trips they are of, warming up included or
 * not; of a stream bytes a second. */
struct raw_figures {
    struct times *times;
    uint64_t *trips, *all_trips; /* are added to; may be NULL */
    double *bytes_per_s;         /* by repetition */
};

/* False when this machine cannot do it: two processors are needed to pin both ends. */
bool raw_floor_measure(const struct raw_floor *f, unsigned repetition,
                       const struct raw_figures *figures);

#endif
