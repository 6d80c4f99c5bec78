/*
 * mf_train.h - training: epochs, tests, and what is reported of them.
 *
 * Callers   main(); mf_work() runs on every worker
 * Memory    the struct
 * Waiting   for all workers at the end of each epoch
 */
#ifndef MF_MF_TRAIN_H
#define MF_MF_TRAIN_H

#include "factors.h"
#include "meter.h"

/* What the workers of a node share. */
struct mf_training {
    const struct mf *mf;
    struct meter meter;
    double began_s; /* as if all had been trained in this run */
    struct checkpoints checkpoints;
};

/* A pool_work; the context is the struct mf_training. */
void mf_work(struct pool_member *, void *training);

#endif
