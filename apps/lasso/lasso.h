/*
 * lasso.h - what the parts of lasso share: the options, the data, and the schedule.
 *
 * It minimizes half the sum of squared errors plus lambda times the sum of the coefficients'
 * absolute values, over columns that are centred and of unit norm (STRADS, Section 3.3).
 *
 * Callers   main() fills it in; workers and the scheduler read
 * Memory    the parts'
 * Waiting   never
 */
#ifndef LASSO_LASSO_H
#define LASSO_LASSO_H

#include "cells.h"
#include "pool.h"
#include "locus_schedule.h"
#include "settings.h"

enum lasso_order { LASSO_PRIORITY, LASSO_ROUND_ROBIN };
enum lasso_table {
    LASSO_COEFFICIENTS,
    LASSO_MAILBOXES,
    /* with checkpoints only: turns.h */
    LASSO_TURNS = LASSO_MAILBOXES + LOCUS_SCHEDULER_TABLES,
    LASSO_LOSSES,
    LASSO_TABLES
};

enum { LASSO_STALENESS_MAX = 15 };

struct lasso_options {
    struct settings common; /* epochs: passes */
    const char *test;
    uint64_t staleness;
    double lambda, correlation, tolerance;
    int order; /* enum lasso_order */
};

struct lasso {
    struct lasso_options options;
    struct columns columns;
    struct cells test;              /* columns are those of `columns` */
    double largest;                 /* lambda, in units: the least that leaves no coefficient */
    unsigned width;                 /* coefficients that are updated at once, at most */
    float *start;                   /* --from: of each column the first coefficient; NULL: 0 */
    uint64_t start_count, start_of; /* coefficients that are not 0: so many of the model's */
    struct locus_scheduler_config
        schedule; /* equal on all nodes; without callbacks, from the start */
};

#endif
