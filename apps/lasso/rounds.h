/*
 * rounds.h - the rounds of lasso: schedulers and a worker's port; or, with the baseline, one
 * schedule and one array of sums that the threads share.
 *
 * Callers   each worker's thread, with its own struct; those of a node share one rounds_here
 * Memory    a round; the baseline's sums
 * Waiting   for schedulers and for other workers
 * Life      open, by all workers after they have met; rounds; close, by all after the same round
 */
#ifndef LASSO_ROUNDS_H
#define LASSO_ROUNDS_H

#include "choice.h"

/* Figures of a part: the product of its column with the errors, and the coefficient. Of a round:
 * see descent.c. */
enum { ROUNDS_FIGURES = 2, ROUNDS_EXTRA = 6 };

/* What the workers of a node share. */
struct rounds_here {
    struct choice *choices; /* of this node's schedulers */
    locus_scheduler **schedulers;
    unsigned count;
    /* of the baseline */
    struct choice choice;
    locus_schedule *schedule;
    struct locus_part *parts;
    size_t part_count;
    double *partial; /* of each worker */
    size_t figures_max;
};

struct rounds {
    const struct lasso *lasso;
    struct pool_member *member;
    struct rounds_here *here;
    locus_port *port; /* NULL for the baseline */
    const struct locus_part *parts;
    size_t count;
    float *floats;
    uint64_t rounds;
};

void rounds_open(struct rounds *, const struct lasso *, struct pool_member *, struct rounds_here *);
void rounds_close(struct rounds *);

/* In this order. */
void rounds_schedule(struct rounds *);
/* Figures part by part, then the extra ones; they become the sums over all workers. */
void rounds_sum(struct rounds *, double *figures);
/* What the coefficients have changed by. The schedule squares changes (STRADS, Section 3.3); it is
 * given the roots, so that a coefficient comes in proportion to its change: squared, those that
 * change most leave nearly nothing for the many that change a little, who make up the objective. */
void rounds_changed(struct rounds *, const double *changes);

/* Shares of the time that this worker waited for schedulers, and for other workers; 0 for the
 * baseline. */
void rounds_waits(const struct rounds *, double *schedule, double *others);

#endif
