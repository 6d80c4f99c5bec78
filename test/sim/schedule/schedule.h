/*
 * schedule.h - the two simulations of scheduling, each a seed at a time.
 *
 * Memory    static
 * Waiting   never
 */
#ifndef LOCUS_TEST_SIM_SCHEDULE_H
#define LOCUS_TEST_SIM_SCHEDULE_H

#include "locus_schedule.h"

#include "../fibers.h"
#include "../seeds.h"

/* A schedule alone: configurations, and orders of its calls, as the seed has them. */
void rounds_run(uint64_t seed);
/* Schedulers and the ports of workers on rows that are arrays, all of them fibers. */
void cluster_run(uint64_t seed);

#endif
