/*
 * evaluate.h - how well a model answers: for each fact of a split, the rank of its object among all
 * entities as answers to (subject, relation, ?), and of its subject as an answer to (?, relation,
 * object).
 *
 * Filtered: other answers that are known from any split are left out. Ties are counted fairly: a
 * rank is the mean of the optimistic one (all equal scores behind) and the pessimistic one (all
 * before), so a model that gives every entity the same score gains nothing. An answer whose score
 * is not a number ranks last.
 *
 * All workers of all nodes take part: each node pulls the entities once, in blocks, into a matrix
 * that its workers share; each worker ranks its part of the facts.
 *
 * Callers   every worker, together (a collective)
 * Memory    per node: the embeddings without optimizer state; per worker: the scores of a block
 * Waiting   for all workers
 * Life      evaluation_init() once a node, before the workers start; then any number of evaluate();
 *           evaluation_fini()
 */
#ifndef KGE_EVALUATE_H
#define KGE_EVALUATE_H

#include "task.h"

/* What the workers of a node share. */
struct evaluation {
    const struct task *task;
    float *entities;  /* panels: the entities as columns (matrix.h) */
    float *relations; /* rows, one after the other */
};

struct quality {
    double mrr, hits1, hits3, hits10;
    double questions;
    double seconds;
};

void evaluation_init(struct evaluation *, const struct task *);
void evaluation_fini(struct evaluation *);
/* Returns the same on all workers. */
struct quality evaluate(struct evaluation *, struct pool_member *, enum graph_split);

/* The two halves of it, for use without a pool: ranking a part of a split against rows that are
 * there already. */
struct quality_sums {
    double reciprocal, hits1, hits3, hits10, questions;
};
void evaluation_rank(const struct evaluation *, enum graph_split, size_t first, size_t end,
                     struct quality_sums *);
/* `entities` and `relations`: rows of `stride` floats, of which the first are the parameters. */
void evaluation_fill(struct evaluation *, const float *entities, size_t entity_stride,
                     const float *relations, size_t relation_stride);

#endif
