/*
 * latch.h - a latch that is held for a short time; a waiting thread spins, and yields the core now
 * and then.
 *
 * Memory    none
 * Waiting   until the holder releases it, which takes as long as the header of its owner says
 * Life      latch_take, latch_give
 */
#ifndef LOCUS_BASE_LATCH_H
#define LOCUS_BASE_LATCH_H

#include "base/yield.h"

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
