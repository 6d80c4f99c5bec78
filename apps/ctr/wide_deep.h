/*
 * wide_deep.h - a step of Wide & Deep: the logits of a batch, the gradients of its log loss, and an
 * AdaGrad step of every row that it uses.
 *
 * Callers   one worker's thread
 * Memory    for the largest batch
 * Waiting   for rows of other nodes
 * Life      open; train and predict with any batches, a clock for each that is trained with; close
 */
#ifndef CTR_WIDE_DEEP_H
#define CTR_WIDE_DEEP_H

#include "click_batch.h"
#include "ctr.h"

struct wide_deep {
    const struct ctr *ctr;
    struct pool_member *member;
    struct dense_rows dense;
    struct params params;
    const float **rows;                  /* of the batch's features */
    float *gradients;                    /* of their parameters */
    float *values[DENSE_LAYERS_MAX + 1]; /* into the layers, and what comes out behind the last */
    float *errors[DENSE_LAYERS_MAX + 1]; /* gradients at the same */
    float *logits;
};

void wide_deep_open(struct wide_deep *, const struct ctr *, struct pool_member *,
                    size_t examples_max);
void wide_deep_close(struct wide_deep *);

/* Returns the weighted sum of the examples' log losses, each before it was trained with. */
double wide_deep_train(struct wide_deep *, const struct click_batch *);
/* The logits, valid until the next call. */
const float *wide_deep_predict(struct wide_deep *, const struct click_batch *);
/* Waits for all updates. */
void wide_deep_flush(struct wide_deep *);

#endif
