/*
 * evaluate.h - how well a model answers: for each fact of a split, the rank of its object among all
 * entities as answers to (subject, relation, ?), and of its subject as an answer to (?, relation,
 * object).
 *
 * Filtered: other answers that are known from any split are left out; raw: they are not. Ties are
 * counted fairly: a rank is the mean of the optimistic one (all equal scores behind) and the
 * pessimistic one (all before), so a model that gives every entity the same score gains nothing. An
 * answer whose score is not a number ranks behind all that it is ranked among.
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
    float *offsets;   /* where scores are distances: of each entity -|a|^2 / 2 */
};

enum quality_kind { QUALITY_FILTERED, QUALITY_RAW, QUALITY_KINDS };
/* Of the questions for one side: doubles alone, which workers add up. */
struct quality_sums {
    double questions, reciprocals, ranks, hits1, hits3, hits10;
};
struct quality_counts {
    struct quality_sums of[MODEL_SIDES][QUALITY_KINDS];
};
struct quality {
    double questions, mrr, mr, hits1, hits3, hits10;
};

void evaluation_init(struct evaluation *, const struct task *);
void evaluation_fini(struct evaluation *);
/* The same on all workers. */
void evaluate(struct evaluation *, struct pool_member *, enum graph_split, struct quality_counts *);
/* `side`: MODEL_SIDES is both. */
struct quality evaluate_quality(const struct quality_counts *, int side, enum quality_kind);

/* The two halves of it, for use without a pool: ranking a part of a split against rows that are
 * there already. */
void evaluation_rank(const struct evaluation *, enum graph_split, size_t first, size_t end,
                     struct quality_counts *);
/* With rows that lie one after the other. */
void evaluation_fill(struct evaluation *, const float *entities, const float *relations);

#endif
