/*
 * condition.h - a condition variable that waits to a time of clock.h.
 *
 * Memory    the caller's
 * Waiting   condition_wait, to that time
 * Life      condition_init, pthread_cond_destroy()
 */
#ifndef LOCUS_BASE_CONDITION_H
#define LOCUS_BASE_CONDITION_H

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

static inline void condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* false: that time has come. true: perhaps something has changed. */
static inline bool condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  uint64_t until_ns)
{
    const struct timespec until = clock_timespec(until_ns);
    return pthread_cond_timedwait(condition, mutex, &until) != ETIMEDOUT;
}

#endif
