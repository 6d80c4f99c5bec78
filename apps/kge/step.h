/*
 * step.h - a training step: the gradients of a batch, with which the rows take AdaGrad's. A row that
 * is a negative takes a step for each time that it is one, and another as part of a fact; where all
 * entities are negatives, each takes one in all.
 *
 * Callers   one worker's thread
 * Memory    the step's, for the largest batch, but its scores in blocks of facts
 * Waiting   for rows of other nodes
 * Life      open; step_train() for each batch, one clock each; close
 */
#ifndef KGE_STEP_H
#define KGE_STEP_H

#include "feed.h"
#include "params.h"

struct step {
    const struct task *task;
    struct pool_member *member;
    struct params params;
    const struct vec *vec;
    size_t dim, relation_floats;
    size_t others;        /* task_others() */
    float sampled_weight; /* loss_of() */
    bool is_distance;     /* model_is_distance() */

    /* Of the batch, then its negatives: objects, then subjects. */
    locus_key *keys;
    const float **rows;          /* of these keys */
    locus_key *negative_keys;    /* where they begin in keys */
    const float **negative_rows; /* and in rows */
    float *gradients;            /* of the batch's keys, one after the other */

    /* For a batch of one fact. */
    float *query, *query_gradient, *scores;
    /* For larger ones. */
    uint32_t block; /* of facts: their scores are there together */
    float *queries, *query_gradients, *negative_gradients, *panels, *true_derivatives;
    const float **query_rows;
    /* Where a score is a distance: of the negatives, and behind them of the block's queries, the sum
     * of their weights; and of the negatives the squares of their norms. */
    float *distances, *weights, *squares;

    struct params_update *update;
};

void step_open(struct step *, const struct task *, struct pool_member *);
/* Returns the sum of the losses of the batch's facts. */
double step_train(struct step *, const struct batch *);
void step_close(struct step *);

/* Floating-point operations of a fact, for the figures of the baseline: multiplications and
 * additions of scores and gradients, and 8 for each parameter that AdaGrad updates. */
double step_operations(const struct task *);

#endif
