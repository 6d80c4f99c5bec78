/*
 * noise.h - draws numbers in proportion to weights, in constant time (Walker's alias method): the
 * baseline's negative samples. With locus the manager draws.
 *
 * Callers   noise_init() and _fini(): one thread; noise_draw(): any
 * Memory    8 bytes a number
 * Waiting   never
 */
#ifndef WV_NOISE_H
#define WV_NOISE_H

#include "rng.h"

struct noise {
    uint32_t count;
    float *share; /* of its own column */
    uint32_t *other;
};

/* Weights are not negative, and their sum is above 0. */
void noise_init(struct noise *, const double *weights, uint32_t count);
void noise_fini(struct noise *);
uint32_t noise_draw(const struct noise *, struct rng *);

#endif
