/*
 * gnn_train.h - training: epochs, judgements, and what is reported of them.
 *
 * Callers   main(); gnn_work() runs on every worker
 * Memory    the struct
 * Waiting   for all workers at the end of each epoch
 */
#ifndef GNN_GNN_TRAIN_H
#define GNN_GNN_TRAIN_H

#include "accuracy.h"
#include "meter.h"

/* What the workers of a node share. The first one of rank 0 keeps the best judgement. */
struct gnn_training {
    const struct gnn *gnn;
    struct meter meter;
    double began_s; /* as if all had been trained in this run */
    struct checkpoints checkpoints;
    struct accuracy best;
    uint64_t best_epoch; /* 0: there is none yet */
};

/* A pool_work; the context is the struct gnn_training. */
void gnn_work(struct pool_member *, void *training);

#endif
