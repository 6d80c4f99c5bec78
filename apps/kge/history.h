/*
 * history.h - the epochs of a run, for the picture at its end (--chart): loss, MRR and management
 * over time.
 *
 * Callers   the first worker of rank 0
 * Memory    some hundred bytes an epoch
 * Waiting   history_draw() for the disk
 * Life      zeros; epochs; a picture; free `list`
 */
#ifndef KGE_HISTORY_H
#define KGE_HISTORY_H

#include "task.h"

struct history_epoch {
    double ended_s; /* since the start of the training, without evaluations */
    double seconds, loss;
    double valid_mrr;         /* negative: not evaluated */
    struct locus_stats stats; /* of all nodes, during this epoch's training */
};

struct history {
    struct history_epoch *list;
    size_t count, capacity;
};

void history_add(struct history *, double seconds, double loss, const struct locus_stats *);
/* Of the last epoch, if there is one. */
void history_set_mrr(struct history *, double mrr);
void history_draw(const struct history *, const struct task *, int nodes);

#endif
