/*
 * floats.h - copying, adding and rounding rows while other threads may read them.
 *
 * A reader copies a row without a latch, and learns afterwards from the directory word whether a
 * writer was active. So these loops may race with each other. They are plain vector code, and the
 * store discards what was read inconsistently. Under the thread sanitizer they are relaxed atomics
 * instead, so that it reports all other races but not this one.
 *
 * Memory    the caller's
 * Waiting   never
 * Life      constants; the widest variants are asked for when the store opens
 */
#ifndef LOCUS_BASE_FLOATS_H
#define LOCUS_BASE_FLOATS_H

#include "base/sync.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* to[i] += from[i] */
typedef void floats_add_fn(float *to, const float *from, size_t n);

/* to[i] = now[i] - was[i], or with `adds` to[i] += that: the gain, 0 if no bit changed. If was[i]
 * was not finite it counts as 0, because no sum clears it; so if a set has cleared it, the gain is
 * the new value. */
typedef void floats_gain_fn(float *to, const float *was, const float *now, size_t n, bool adds);

struct floats_loops {
    floats_add_fn *add;
    floats_gain_fn *gain;
};

/* The widest that this processor runs. */
const struct floats_loops *floats_best(void);

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

/*
 * bf16: values of 16 bits, the upper half of a binary32, two in a word of a row.
 *
 * Rounding is stochastic: a value between two neighbours becomes the upper one as often as it is
 * nearer to that one, so that the mean is right and steps too small for one value are not lost for
 * good. The random bits follow from `draw` and the place in the row alone: the same on each
 * machine. What is finite stays finite, at most the largest value of 16 bits; infinity, NaN, the
 * sign of zero and what has 16 bits already stay as they are.
 */

/* n values of `from`, which is the beginning of a row in memory or in a message. */
typedef void bf16_widen_fn(float *to, const float *from, size_t n);
/* n values to the beginning of such a row. A half word that is left over becomes 0. */
typedef void bf16_round_fn(float *to, const float *from, size_t n, uint64_t draw);

/* Both loops in variant 0, 1, ... of as many instruction sets; NULL: this processor does not run
 * it, or there is none. All give the same, to the bit. */
struct bf16_loops {
    bf16_widen_fn *widen;
    bf16_round_fn *round;
};
const struct bf16_loops *bf16_variant(unsigned variant);

/* The widest. */
const struct bf16_loops *bf16_best(void);

/* A draw from what tells two roundings apart. */
static inline uint64_t bf16_draw(uint64_t place, uint64_t number)
{
    uint64_t x = place * UINT64_C(0x9E3779B97F4A7C15) + number;
    x = (x ^ x >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    x = (x ^ x >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return x ^ x >> 32;
}

#endif
