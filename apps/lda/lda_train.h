/*
 * lda_train.h - training: sweeps, tests, and what is reported of them.
 *
 * Callers   main(); lda_work() runs on every worker
 * Memory    the struct
 * Waiting   for all workers
 */
#ifndef LDA_LDA_TRAIN_H
#define LDA_LDA_TRAIN_H

#include "lda.h"
#include "meter.h"

/* What the workers of a node share. */
struct lda_training {
    const struct lda *lda;
    struct meter meter;
    struct checkpoints checkpoints;
};

/* A pool_work; the context is the struct lda_training. */
void lda_work(struct pool_member *, void *training);

#endif
