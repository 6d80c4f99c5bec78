/*
 * rounds.h - the rounds of lasso: the scheduler and a worker's port; or, with the baseline, one
 * schedule and one array of sums that the threads share.
 *
 * Callers   each worker's thread, with its own struct; those of a node share one rounds_here
 * Memory    a round; the baseline's sums
 * Waiting   for the scheduler and for other workers
 * Life      init; open, by all workers after they have met; rounds; close, by all after the same
 *           round; any number of times; fini
 */
#ifndef LASSO_ROUNDS_H
#define LASSO_ROUNDS_H

#include "choice.h"
#include "turns.h"

/* Figures of a part: the product of its column with the errors, in two floats. Of a round: see
 * descent.c. */
enum { ROUNDS_FIGURES = 2, ROUNDS_EXTRA = 6 };

/* What the workers of a node share. */
struct rounds_here {
    bool is_open; /* on the first node alone: the filter of the scheduler, or of the schedule */
    struct choice choice;
    locus_scheduler *scheduler;
    /* of the baseline */
    locus_schedule *schedule;
    struct locus_part *parts;
    size_t part_count;
    double *partial; /* of each worker */
    size_t figures_max;
};

/* A round's coefficients: at least one, or with staleness none. */
struct round {
    const struct locus_part *parts;
    size_t count;
};

struct rounds {
    const struct lasso *lasso;
    struct pool_member *member;
    struct rounds_here *here;
    locus_port *port; /* NULL for the baseline */
    float *floats;
    uint64_t rounds;
    struct locus_port_stats waits; /* of ports that were closed */
};

void rounds_init(struct rounds *, const struct lasso *, struct pool_member *, struct rounds_here *);
/* Behind so many updates, of what is active, by what has changed; mailboxes are unused. */
void rounds_open(struct rounds *, const struct turns *, uint64_t updates);
void rounds_close(struct rounds *);
void rounds_fini(struct rounds *);
/* The mailboxes are as before their first use: all workers call it, and quiesce afterwards. */
void rounds_clear(struct rounds *);

/* In this order; with staleness, so many rounds more are taken and pushed before the oldest is
 * summed up and ends. */
struct round rounds_schedule(struct rounds *);
/* Figures part by part, then the extra ones. */
void rounds_push(struct rounds *, const struct round *, const double *figures);
/* Their sums over all workers. */
void rounds_sum(struct rounds *, const struct round *, double *figures);
/* What the coefficients have changed by. */
void rounds_changed(struct rounds *, const struct round *, const double *changes);

/* Shares of the time up to the last rounds_close() that this worker waited for schedules, and for
 * other workers; 0 for the baseline. */
void rounds_waits(const struct rounds *, double *schedule, double *others);

#endif
