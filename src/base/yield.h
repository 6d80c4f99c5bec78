/*
 * yield.h - critical places, where a step of another thread would matter most.
 *
 * LOCUS_YIELD() is empty in the library. With LOCUS_FIBERS, workers and shards run as fibers on one
 * thread, and the test's seed decides at each such place which fiber continues. So races are found,
 * and can be reproduced. Code that would sleep calls locus_fiber_wait() instead, and code that
 * compares its time with a shard's calls locus_fiber_now_ns().
 */
#ifndef LOCUS_BASE_YIELD_H
#define LOCUS_BASE_YIELD_H

#include "base/clock.h"

#include <sched.h>
#include <stdbool.h>

#ifdef LOCUS_FIBERS
/* The test provides these. */
void locus_fiber_yield(void);
void locus_fiber_wait(bool (*condition)(const void *), const void *);
uint64_t locus_fiber_now_ns(void);
#define LOCUS_YIELD() locus_fiber_yield()
#define LOCUS_NOW_NS() locus_fiber_now_ns()
#else
#define LOCUS_YIELD() ((void)0)
#define LOCUS_NOW_NS() clock_now_ns()
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

#endif
