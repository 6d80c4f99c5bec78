/*
 * floats.h - copying and adding rows while others may look.
 *
 * A reader copies a row without a latch and learns afterwards, from the directory word, whether a writer was there.
 * So these loops may race with each other; they are plain vector code, and what they read is thrown away when it was
 * not consistent (row.c). Under the thread sanitizer they are relaxed atomics instead, so that it reports all other
 * races and not this one.
 *
 * Callers   row.c, on any thread
 * Memory    the caller's
 * Waiting   never
 * Life      floats_add_best() and floats_gain_best() are asked once, when the store opens
 */
#ifndef LOCUS_STORE_FLOATS_H
#define LOCUS_STORE_FLOATS_H

#include "store/tsan.h"
#include "store/yield.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* to[i] += from[i] */
typedef void floats_add_fn(float *to, const float *from, size_t n);

/* to[i] = now[i] - was[i], or with `adds` to[i] += that: what was gained, 0 where nothing changed, infinities too. */
typedef void floats_gain_fn(float *to, const float *was, const float *now, size_t n, bool adds);

/* The widest versions that this processor runs. */
floats_add_fn *floats_add_best(void);
floats_gain_fn *floats_gain_best(void);

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
static inline void floats_copy_part(float *to, const float *from, size_t n)
{
    typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
    if (n > 32) { /* the C library knows the machine better, and its call is paid for */
        memcpy(to, from, n * sizeof *to);
        return;
    }
    for (; n >= 16; n -= 16, from += 16, to += 16) { /* a cache line: 8 instructions */
        four a = *(const four *)from, b = *(const four *)(from + 4);
        four c = *(const four *)(from + 8), d = *(const four *)(from + 12);
        *(four *)to = a;
        *(four *)(to + 4) = b;
        *(four *)(to + 8) = c;
        *(four *)(to + 12) = d;
    }
    for (; n >= 4; n -= 4, from += 4, to += 4) *(four *)to = *(const four *)from;
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
