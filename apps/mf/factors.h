/*
 * factors.h - a training step of matrix factorization: SGD with AdaGrad on the squared errors of a
 * batch of cells. Rows' factors are trained in place; of a column's, what its cells have made of it
 * is added at the end of the batch.
 *
 * Callers   one worker's thread
 * Memory    the step's, for the largest batch
 * Waiting   for rows of other nodes; in MF_BLOCKS, for a block's columns and for the other workers
 *           after it
 * Life      open; factors_train() for each batch, one clock each; close
 */
#ifndef MF_FACTORS_H
#define MF_FACTORS_H

#include "draft.h"
#include "visit.h"

struct factors {
    const struct mf *mf;
    const struct vec *vec;
    struct pool_member *member;
    struct draft draft;
};

void factors_open(struct factors *, const struct mf *, struct pool_member *);
/* Returns the sum of the squared errors, each before its cell was trained with. */
double factors_train(struct factors *, const struct visit *, const struct visit_batch *);
void factors_close(struct factors *);

#endif
