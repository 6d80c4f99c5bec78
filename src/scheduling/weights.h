/*
 * weights.h - draws indices by weights that change all the time: a tree of sums. A change and a
 * draw take one step for each level.
 *
 * Each change computes sums from their children, never by adding differences. So errors do not
 * accumulate, and if all weights are 0, so is the total.
 *
 * Memory    16 bytes an index
 * Waiting   never
 * Life      weights_init; any mix of set and draw; weights_fini
 */
#ifndef LOCUS_SCHEDULING_WEIGHTS_H
#define LOCUS_SCHEDULING_WEIGHTS_H

#include <stdint.h>

struct weights {
    uint64_t count;
    double *sum; /* of the nodes below: 2i and 2i + 1; node 1 is the root, count ... are leaves */
};

/* All are 0. 0 or -ENOMEM. */
int weights_init(struct weights *, uint64_t count);
void weights_fini(struct weights *);

/* Finite, at least 0; their sum is finite, too. */
void weights_set(struct weights *, uint64_t index, double weight);

static inline double weights_get(const struct weights *w, uint64_t index)
{
    return w->sum[w->count + index];
}

static inline double weights_total(const struct weights *w)
{
    return w->sum[1];
}

/* The index for a uniform number from [0, 1); the total is above 0. An index of weight 0 is never
 * drawn. */
uint64_t weights_draw(const struct weights *, double uniform);

#endif
