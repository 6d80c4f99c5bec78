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

/* A schedule alone: configurations, and orders of its calls, as the seed has them. */
void rounds_run(uint64_t seed);
/* Schedulers and the ports of workers on rows that are arrays, all of them fibers. */
void cluster_run(uint64_t seed);

/* Says what is wrong with which seed, and ends the program. */
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define MUST(condition, ...) \
    do { \
        if (!(condition)) give_up(__VA_ARGS__); \
    } while (0)

#endif
