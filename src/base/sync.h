/*
 * sync.h - latches, and what tools that look for races are told.
 *
 * Memory    the caller's
 * Waiting   latch_take: spins, and yields the core now and then, until the holder releases it, which
 *           takes as long as the header of its owner says
 * Life      none
 */
#ifndef LOCUS_BASE_SYNC_H
#define LOCUS_BASE_SYNC_H

#include "base/time.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

/*
 * Under the thread sanitizer (LOCUS_TSAN) rows are copied by relaxed atomics, and stand-alone
 * fences, which it does not model, are left out. The headers in test/tsan describe ck to it.
 *
 * It does not see memory that is mapped and unmapped by others: liburing calls the kernel
 * directly, and so does the dynamic loader when hwloc loads and unloads its plugins. If one
 * thread's mapping ends and another thread's begins at the same address, it reports a race. So
 * under the sanitizer these calls take turns, between mapping_begin() and mapping_end().
 */

#if defined(__SANITIZE_THREAD__) && !defined(LOCUS_TSAN)
#define LOCUS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCUS_TSAN 1
#endif
#endif

#ifdef LOCUS_TSAN
#define FENCE(order) ((void)0)
/* One for all that include this. */
__attribute__((weak)) pthread_mutex_t mapping_turn = PTHREAD_MUTEX_INITIALIZER;
#define mapping_begin() pthread_mutex_lock(&mapping_turn)
#define mapping_end() pthread_mutex_unlock(&mapping_turn)
#else
#define FENCE(order) __atomic_thread_fence(order)
#define mapping_begin() ((void)0)
#define mapping_end() ((void)0)
#endif

/*
 * LOCUS_YIELD() stands where what another thread does would matter most, and is empty in the
 * library. With LOCUS_FIBERS, workers and shards run as fibers on one thread, and the test's seed
 * decides at each such place which fiber continues. So races are found, and can be reproduced. Code
 * that would sleep calls locus_fiber_wait() instead, and code that compares its time with a shard's
 * calls locus_fiber_now_ns().
 */

#ifdef LOCUS_FIBERS
/* The test provides these. */
void locus_fiber_yield(void);
void locus_fiber_wait(bool (*condition)(const void *), const void *);
uint64_t locus_fiber_now_ns(void);
#define LOCUS_YIELD() locus_fiber_yield()
#define LOCUS_NOW_NS() locus_fiber_now_ns()
#else
#define LOCUS_YIELD() ((void)0)
#define LOCUS_NOW_NS() time_now_ns()
#endif

static inline void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Waits a moment for another thread's critical section of some nanoseconds. After many calls it
 * yields the core, because the other thread may have been preempted on this very core. `spins`
 * counts the calls and starts at 0. */
static inline void spin_wait(unsigned *spins)
{
#ifdef LOCUS_FIBERS
    (void)spins;
    LOCUS_YIELD();
#else
    if (++*spins % 64 == 0)
        sched_yield();
    else
        cpu_relax();
#endif
}

/* A latch is held for a short time. */
static inline void latch_take(int *latch)
{
    unsigned spins = 0;
    while (__atomic_exchange_n(latch, 1, __ATOMIC_ACQUIRE)) spin_wait(&spins);
}

static inline void latch_give(int *latch)
{
    __atomic_store_n(latch, 0, __ATOMIC_RELEASE);
}

#endif
