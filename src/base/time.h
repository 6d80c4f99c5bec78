/*
 * time.h - nanoseconds; waiting until then; when to tell people what somebody waits for.
 *
 * Memory    the caller's
 * Waiting   condition_wait alone, to a time
 * Life      condition_init, pthread_cond_destroy(); a reminder's since_ns is set when waiting begins
 */
#ifndef LOCUS_BASE_TIME_H
#define LOCUS_BASE_TIME_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t time_ns(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint64_t time_now_ns(void)
{
    return time_ns(CLOCK_MONOTONIC);
}

static inline uint64_t time_earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

static inline struct timespec time_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

/* time_now_ns() plus this is nanoseconds since 1970. */
static inline int64_t time_epoch_ns(void)
{
    return (int64_t)(time_ns(CLOCK_REALTIME) - time_now_ns());
}

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
    const struct timespec until = time_timespec(until_ns);
    return pthread_cond_timedwait(condition, mutex, &until) != ETIMEDOUT;
}

enum { REMINDER_S = 10 };
#define REMINDER_NS (REMINDER_S * UINT64_C(1000000000))

struct reminder {
    uint64_t since_ns;
    unsigned count; /* of the last one; those that nobody asked for in time are left out */
};

static inline uint64_t reminder_next_ns(const struct reminder *r)
{
    return r->since_ns + (r->count + 1) * REMINDER_NS;
}

/* Is it time? Then the seconds that the waiting has taken; otherwise 0. */
static inline unsigned reminder_due(struct reminder *r, uint64_t now_ns)
{
    if (now_ns < reminder_next_ns(r)) return 0;
    r->count = (unsigned)((now_ns - r->since_ns) / REMINDER_NS);
    return r->count * REMINDER_S;
}

#endif
