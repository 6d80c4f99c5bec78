/*
 * alias.h - drawing by weight in constant time: the alias method, with a table built as by Vose
 * (1991).
 *
 * Each of n cells has the same probability. Up to a threshold it stands for its own index, and
 * above it for one other index. One random number chooses the cell and the side. An index of weight
 * 0 is never drawn; any other can be.
 *
 * Memory    16 bytes an index; 16 more while the table is built
 * Waiting   never
 * Life      alias_init, draws and alias_weights from any thread, alias_fini
 */
#ifndef LOCUS_WORKER_ALIAS_H
#define LOCUS_WORKER_ALIAS_H

#include "worker/random.h"

#include <stdbool.h>

struct alias_cell {
    /* the part of the cell, in 2^64ths, that stands for its own index; 0: none, its weight is 0 */
    uint64_t threshold;
    uint64_t other;
};

struct alias {
    uint64_t count;
    uint64_t possible; /* indices of weight above 0 */
    struct alias_cell *cell;
};

/* Weights are finite and not negative, one is above 0. 0 or -ENOMEM. */
int alias_init(struct alias *, const double *weights, uint64_t count);
void alias_fini(struct alias *);

/* A draw in two halves: the cell, so that it can be prefetched, and then its side. */
struct alias_chance {
    uint64_t cell, rest;
};

static inline struct alias_chance alias_choose(const struct alias *a, struct random *r)
{
    struct alias_chance c;
    c.cell = random_below(r, a->count, &c.rest);
    __builtin_prefetch(&a->cell[c.cell], 0, 3);
    return c;
}

/* Without a branch: no processor could predict it. */
static inline uint64_t alias_index(const struct alias *a, struct alias_chance c)
{
    const struct alias_cell *cell = &a->cell[c.cell];
    uint64_t own = -(uint64_t)(c.rest < cell->threshold);
    return (c.cell & own) | (cell->other & ~own);
}

static inline bool alias_is_possible(const struct alias *a, uint64_t i)
{
    return a->cell[i].threshold > 0;
}

/* The weights again, with another sum. */
void alias_weights(const struct alias *, double *weights);

#endif
