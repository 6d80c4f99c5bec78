/*
 * epochs.h - a worker's nodes to train with, as batches: those of its node's part, in a new random
 * order in each epoch, each batch with its neighbourhood. Its loader (locus_feed_open()) prepares them
 * ahead, and signals intent for the rows.
 *
 * Callers   one worker's thread; the filling runs on its loader's
 * Memory    the batches
 * Waiting   epochs_next() for the loader
 * Life      open; epochs_next() until it returns NULL, after the last epoch; close, at any time
 */
#ifndef GNN_EPOCHS_H
#define GNN_EPOCHS_H

#include "neighbourhood.h"

enum { EPOCHS_AHEAD = 64 }; /* batches, at most */

struct epochs {
    const struct gnn *gnn;
    locus_feed *feed;
    struct neighbourhood_maker maker;
    struct rng rng;
    uint32_t *node, count; /* the worker's */
    uint32_t at;           /* the next one */
    uint64_t batches, epochs;
    unsigned place; /* the worker's */
    struct neighbourhood *list[EPOCHS_AHEAD];
    size_t ahead; /* so many of them */
};

/* Behind so many of them. */
void epochs_open(struct epochs *, const struct gnn *, struct pool_member *, uint64_t epochs);
/* Valid until the next call. */
const struct neighbourhood *epochs_next(struct epochs *);
void epochs_close(struct epochs *);

#endif
