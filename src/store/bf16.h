/*
 * bf16.h - values of 16 bits: the upper half of a binary32, two in a word of a row.
 *
 * Rounding is stochastic: a value between two neighbours becomes the upper one as often as it is
 * nearer to that one, so that the mean is right and steps too small for one value are not lost for
 * good. The random bits follow from `draw` and the place in the row alone: the same on each
 * machine. What is finite stays finite, at most the largest value of 16 bits; infinity, NaN, the
 * sign of zero and what has 16 bits already stay as they are.
 *
 * A row may be widened while another thread writes it: as in floats.h.
 *
 * Memory    the caller's
 * Waiting   never
 * Life      constants
 */
#ifndef LOCUS_STORE_BF16_H
#define LOCUS_STORE_BF16_H

#include <stddef.h>
#include <stdint.h>

/* n values of `from`, which is the beginning of a row in memory or in a message. */
typedef void bf16_widen_fn(float *to, const float *from, size_t n);
/* n values to the beginning of such a row. A half word that is left over becomes 0. */
typedef void bf16_round_fn(float *to, const float *from, size_t n, uint64_t draw);

/* Both loops in version 0, 1, ... of as many instruction sets; NULL: this processor does not run
 * it, or there is none. All give the same, to the bit. */
struct bf16_version {
    bf16_widen_fn *widen;
    bf16_round_fn *round;
};
const struct bf16_version *bf16_version(unsigned version);

/* The widest. */
const struct bf16_version *bf16_best(void);

/* A draw from what tells two roundings apart. */
static inline uint64_t bf16_draw(uint64_t place, uint64_t number)
{
    uint64_t x = place * UINT64_C(0x9E3779B97F4A7C15) + number;
    x = (x ^ x >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    x = (x ^ x >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return x ^ x >> 32;
}

#endif
