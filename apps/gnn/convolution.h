/*
 * convolution.h - a training step: two layers of graph convolution for a batch of nodes, forward
 * and backward, and AdaGrad's step of all rows that took part. Rows that this node holds are read
 * and changed in place, all others are fetched together, and get their updates together.
 *
 * Callers   one worker's thread
 * Memory    the values of the largest batch's nodes
 * Waiting   for rows of other nodes
 * Life      open; any number of convolution_train(), one clock each, or _infer(); close
 */
#ifndef GNN_CONVOLUTION_H
#define GNN_CONVOLUTION_H

#include "neighbourhood.h"
#include "params.h"

struct convolution {
    const struct gnn *gnn;
    struct pool_member *member;
    struct dense_rows dense;
    struct params params;
    struct rng rng;
    size_t width; /* of a row */
    /* of middle nodes: what is summed up for them, what they become, and the gradients of both; of
     * the batch's: what is summed up, its gradient; the classes' probabilities, then their
     * gradients */
    float *sums, *hidden, *sum_gradients, *hidden_gradients, *top, *top_gradients, *odds;
    float *gradient;   /* of one row */
    uint32_t *missing; /* inputs whose rows are not here; below them come those that left */
    locus_key *keys;   /* of these */
    const float **rows;
    bool *is_here; /* of each input */
    struct params_update *update;
};

void convolution_open(struct convolution *, const struct gnn *, struct pool_member *,
                      size_t tops_max, size_t neighbours);
/* An epoch begins, behind so many: what it drops out follows from its number. */
void convolution_begin(struct convolution *, uint64_t epochs);
/* Returns the sum of the losses, -log of the right classes' probabilities. */
double convolution_train(struct convolution *, const struct neighbourhood *);
/* The probabilities of each top node's classes; valid until the next call. */
const float *convolution_infer(struct convolution *, const struct neighbourhood *);
void convolution_flush(struct convolution *);
void convolution_close(struct convolution *);

#endif
