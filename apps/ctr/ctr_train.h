/*
 * ctr_train.h - training: epochs, validation, the test, and what is reported of them.
 *
 * Callers   main(); ctr_work() runs on every worker
 * Memory    the struct
 * Waiting   for all workers at the end of each epoch
 */
#ifndef CTR_CTR_TRAIN_H
#define CTR_CTR_TRAIN_H

#include "ctr_quality.h"
#include "meter.h"

/* What the workers of a node share. */
struct ctr_training {
    const struct ctr *ctr;
    struct meter meter;
    double began_s; /* as if all had been trained in this run */
    struct checkpoints checkpoints;
};

/* A pool_work; the context is the struct ctr_training. */
void ctr_work(struct pool_member *, void *training);

#endif
