/*
 * rejoin.h - how a training goes on when nodes are lost or come: training.h.
 *
 * Callers   every worker of every node
 * Memory    none
 * Waiting   for all workers
 */
#ifndef APPS_REJOIN_H
#define APPS_REJOIN_H

#include "training.h"

/* What is to be done at a place: the same on all workers. */
struct due {
    bool is_behind; /* an epoch of this run */
    bool checkpoint, evaluation;
    bool is_new;          /* the model: some worker's step is behind the last evaluation */
    bool is_judged;       /* it has been evaluated now */
    bool is_end, is_good; /* of the training; the loss is a number */
    bool is_short;        /* the epoch: a node was lost in it */
};

/* From a checkpoint, or the beginning. */
void rejoin_begin(struct training_worker *);
/* In a job that survives, between epochs: all workers meet, and newcomers with them, who begin with
 * what is due there. If others are there than before, all begin again. False: a newcomer finds that
 * the others leave. */
bool rejoin_meet(struct training_worker *, struct due *);
/* The same behind an epoch, without newcomers. Are there fewer than before? */
bool rejoin_deal(struct training_worker *);

#endif
