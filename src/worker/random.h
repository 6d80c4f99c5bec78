/*
 * random.h - random numbers of one stream of samples: xoshiro256** (Blackman and Vigna, 2018), 1 ns
 * each.
 *
 * Callers   all of this folder, under the latch of the stream
 * Memory    the caller's
 * Waiting   never
 * Life      random_init, then any
 */
#ifndef LOCUS_WORKER_RANDOM_H
#define LOCUS_WORKER_RANDOM_H

#include "store/keyspace.h"

#include <math.h>
#include <stdint.h>

struct random {
    uint64_t state[4];
};

/* splitmix64 (Steele, Lea and Flood, 2014): every bit of the result depends on every bit of x. */
static inline uint64_t random_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Streams that differ in any of the three have nothing in common. */
static inline void random_init(struct random *r, uint64_t seed, uint64_t rank, uint64_t worker)
{
    uint64_t x = random_mix(random_mix(random_mix(seed) ^ rank) ^ worker);
    for (int i = 0; i < 4; i++) r->state[i] = x = random_mix(x);
}

static inline uint64_t random_next(struct random *r)
{
    uint64_t *s = r->state, result = s[1] * 5, shifted = s[1] << 17;
    result = (result << 7 | result >> 57) * 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = s[3] << 45 | s[3] >> 19;
    return result;
}

/* Below `bound`, which is not 0: each number exactly as likely as the others (Lemire, 2019). *rest:
 * a second random number, in 2^64ths, as fine as 2^64 / bound. */
static inline uint64_t random_below(struct random *r, uint64_t bound, uint64_t *rest)
{
    uint128 x = (uint128)random_next(r) * bound;
    if (__builtin_expect((uint64_t)x < bound, 0)) {
        uint64_t surplus = -bound % bound;
        while ((uint64_t)x < surplus) x = (uint128)random_next(r) * bound;
    }
    *rest = (uint64_t)x;
    return (uint64_t)(x >> 64);
}

/* Exponentially distributed with mean 1; above 0 and finite but for one value in 2^53, which is
 * 0. */
static inline double random_exponential(struct random *r)
{
    return -log((double)((random_next(r) >> 11) + 1) * 0x1p-53);
}

#endif
