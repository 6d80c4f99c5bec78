/*
 * train.h - training: epochs, evaluations, and what is reported of them.
 *
 * Callers   main(); train_work() runs on every worker
 * Memory    the struct
 * Waiting   for all workers at the end of each epoch
 */
#ifndef KGE_TRAIN_H
#define KGE_TRAIN_H

#include "evaluate.h"
#include "meter.h"
#include "step.h"

/* An epoch, for the picture at the end. */
struct epoch {
    double ended_s; /* since the start of the training, without evaluations */
    double seconds, examples_per_second, loss;
    double valid_mrr;         /* negative: not evaluated */
    struct locus_stats stats; /* of all nodes, during this epoch's training */
};

/* What the workers of a node share. */
struct training {
    const struct task *task;
    struct evaluation evaluation;
    struct meter meter;
    uint64_t facts_before; /* in this epoch, when its part began */
    double began_s;        /* as if all had been trained in this run */
    struct checkpoints checkpoints;
    struct epoch *epochs; /* on rank 0 */
    size_t epoch_count, epoch_capacity;
    struct quality valid, test; /* at the end */
};

void training_init(struct training *, const struct task *, const struct pool *);
void training_fini(struct training *);
/* A pool_work; the context is the struct training. */
void train_work(struct pool_member *, void *training);

#endif
