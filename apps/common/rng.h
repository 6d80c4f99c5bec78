/*
 * rng.h - random numbers: xoshiro256++ (Blackman and Vigna), seeded by splitmix64. The same seed
 * and stream give the same numbers on every machine.
 *
 * Callers   one thread for each struct
 * Memory    the struct
 * Waiting   never
 */
#ifndef APPS_RNG_H
#define APPS_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t state[4];
};

/* Streams of one seed are independent of each other: one for each worker, one for each purpose. */
void rng_init(struct rng *, uint64_t seed, uint64_t stream);

/* A well mixed function of x (splitmix64's). */
static inline uint64_t rng_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint64_t rng_turn_left(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static inline uint64_t rng_next(struct rng *r)
{
    uint64_t *s = r->state;
    uint64_t result = rng_turn_left(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rng_turn_left(s[3], 45);
    return result;
}

/* Uniform in [0, 1). */
static inline double rng_real(struct rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

/* Uniform in [0, bound), without bias; bound is at least 1. */
uint64_t rng_below(struct rng *, uint64_t bound);
/* Standard normal. */
double rng_normal(struct rng *);
/* Uniform around 0, with that deviation: so many numbers of a stream. */
void rng_fill(uint64_t seed, uint64_t stream, double deviation, float *values, size_t count);
/* A uniform random order of n numbers. */
void rng_shuffle(struct rng *, uint32_t *numbers, uint64_t n);

#endif
