/*
 * floats.h - copying and adding rows while other threads may read them.
 *
 * A reader copies a row without a latch, and learns afterwards from the directory word whether a
 * writer was active. So these loops may race with each other. They are plain vector code, and row.c
 * discards what was read inconsistently. Under the thread sanitizer they are relaxed atomics
 * instead, so that it reports all other races but not this one.
 *
 * Memory    the caller's
 * Waiting   never
 * Life      floats_add_best() and floats_gain_best() are asked once, when the store opens
 */
#ifndef LOCUS_STORE_FLOATS_H
#define LOCUS_STORE_FLOATS_H

#include "base/tsan.h"
#include "base/yield.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* to[i] += from[i] */
typedef void floats_add_fn(float *to, const float *from, size_t n);

/* to[i] = now[i] - was[i], or with `adds` to[i] += that: the gain, 0 if no bit changed. If was[i]
 * was not finite it counts as 0, because no sum clears it; so if a set has cleared it, the gain is
 * the new value. */
typedef void floats_gain_fn(float *to, const float *was, const float *now, size_t n, bool adds);

/* The widest versions that this processor runs. */
floats_add_fn *floats_add_best(void);
floats_gain_fn *floats_gain_best(void);

enum { FLOATS_FEW = 32 }; /* in a row that is copied without a call */

#if defined(LOCUS_TSAN)
static inline void floats_copy_part(float *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float f;
        __atomic_load(&from[i], &f, __ATOMIC_RELAXED);
        __atomic_store(&to[i], &f, __ATOMIC_RELAXED);
    }
}
#else
typedef float floats_four __attribute__((vector_size(16), aligned(4), may_alias));

static inline void floats_copy_8(float *to, const float *from)
{
    floats_four a = *(const floats_four *)from, b = *(const floats_four *)(from + 4);
    *(floats_four *)to = a;
    *(floats_four *)(to + 4) = b;
}

/* Without a loop: the rest is copied together with some floats that were copied before. */
static inline void floats_copy_part(float *to, const float *from, size_t n)
{
    if (n > FLOATS_FEW) { /* the C library knows the machine better, and the call pays off */
        memcpy(to, from, n * sizeof *to);
        return;
    }
    if (n >= 16) { /* a cache line: 8 instructions */
        floats_copy_8(to, from);
        floats_copy_8(to + 8, from + 8);
        if (n == 16) return;
        floats_copy_8(to + n - 16, from + n - 16);
        floats_copy_8(to + n - 8, from + n - 8);
        return;
    }
    if (n >= 8) {
        floats_copy_8(to, from);
        floats_copy_8(to + n - 8, from + n - 8);
        return;
    }
    for (; n >= 4; n -= 4, from += 4, to += 4) *(floats_four *)to = *(const floats_four *)from;
    for (; n > 0; n--, from++, to++) *to = *from;
}
#endif

static inline void floats_copy(float *to, const float *from, size_t n)
{
#ifdef LOCUS_FIBERS
    size_t half = n / 2; /* a copy that others can interrupt, as on two processors */
    floats_copy_part(to, from, half);
    LOCUS_YIELD();
    floats_copy_part(to + half, from + half, n - half);
#else
    floats_copy_part(to, from, n);
#endif
}

static inline void floats_zero(float *to, size_t n)
{
#ifdef LOCUS_TSAN
    float zero = 0;
    for (size_t i = 0; i < n; i++) __atomic_store(&to[i], &zero, __ATOMIC_RELAXED);
#else
    memset(to, 0, n * sizeof *to);
#endif
}

#endif
