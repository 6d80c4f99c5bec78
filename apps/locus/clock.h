/*
 * clock.h - the time for deadlines: seconds that never go back.
 *
 * Callers   loops with a deadline
 * Memory    none
 * Waiting   never
 */
#ifndef LOCUS_RUN_CLOCK_H
#define LOCUS_RUN_CLOCK_H

#include <time.h>

static inline double clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* What poll() takes to wait until then, at most an hour; at least 1 ms while it has not come. */
static inline int clock_poll_ms(double until_s)
{
    double left_s = until_s - clock_s();
    if (left_s <= 0) return 0;
    return left_s < 3600 ? (int)(left_s * 1e3) + 1 : 3600000;
}

#endif
