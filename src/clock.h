/*
 * clock.h - time as the library counts it: nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef LOCUS_CLOCK_H
#define LOCUS_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
