/*
 * sample_target.h - random numbers; the target distribution (NuPS, Section 4.1: pi), and independent
 * draws from it.
 *
 * Weighted targets are drawn from by the alias method, with a table built as by Vose (1991). Each of
 * n cells has the same probability. Up to a threshold it stands for its own key, and above it for
 * one other key. One random number chooses the cell and the side. A key of weight 0 is never drawn;
 * any other can be.
 *
 * Memory    16 bytes a key if weighted, and 16 more while the table is built; none if uniform; a draw
 *           takes none, except as target_draw_unique() says
 * Waiting   never
 * Life      target_init_uniform or target_init_weighted, draws from any thread (each with its own
 *           random numbers), target_fini
 */
#ifndef LOCUS_WORKER_SAMPLE_TARGET_H
#define LOCUS_WORKER_SAMPLE_TARGET_H

#include "base/sets.h"
#include "store/keyspace.h"

#include <math.h>
#include <stdint.h>

/* Random numbers of one stream of samples: xoshiro256** (Blackman and Vigna, 2018), 1 ns each. */

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

struct target_cell {
    /* the part of the cell, in 2^64ths, that stands for its own key; 0: none, its weight is 0 */
    uint64_t threshold;
    uint64_t other;
};

struct target {
    locus_key first;
    uint64_t count;           /* keys */
    uint64_t possible;        /* of them, with a probability above 0 */
    struct target_cell *cell; /* NULL: uniform */
};

void target_init_uniform(struct target *, locus_key first, uint64_t count);
/* Weights are finite and not negative, one is above 0. 0 or -ENOMEM. */
int target_init_weighted(struct target *, locus_key first, const double *weights, uint64_t count);
void target_fini(struct target *);

/* A draw in two halves: the cell, so that it can be prefetched, and then its side. */
struct target_chance {
    uint64_t cell, rest;
};

static inline struct target_chance target_choose(const struct target *t, struct random *r)
{
    struct target_chance c;
    c.cell = random_below(r, t->count, &c.rest);
    __builtin_prefetch(&t->cell[c.cell], 0, 3);
    return c;
}

/* Without a branch: no processor could predict it. */
static inline locus_key target_key(const struct target *t, struct target_chance c)
{
    const struct target_cell *cell = &t->cell[c.cell];
    uint64_t own = -(uint64_t)(c.rest < cell->threshold);
    return t->first + ((c.cell & own) | (cell->other & ~own));
}

static inline locus_key target_draw(const struct target *t, struct random *r)
{
    uint64_t rest;
    return t->cell ? target_key(t, target_choose(t, r))
                   : t->first + random_below(r, t->count, &rest);
}

/* n draws, their cells fetched together. */
void target_draw_many(const struct target *, struct random *, locus_key *keys, size_t n);

static inline bool target_is_possible(const struct target *t, locus_key key)
{
    return !t->cell || t->cell[key - t->first].threshold > 0;
}

/* The weights of a weighted one again, with another sum. */
void target_weights(const struct target *, double *weights);

/* Draws n keys that are not in `drawn`, each as if those drawn before did not exist, and adds them
 * to it. At least n must be left. Repeated keys are drawn again, a bounded number of times; then
 * one pass over all keys finds the rest. During the pass it needs 16 bytes for each of the n keys,
 * and 8 for each key of a weighted target. 0 or -ENOMEM. */
int target_draw_unique(const struct target *, struct random *, struct keyset *drawn,
                       locus_key *keys, size_t n);

#endif
