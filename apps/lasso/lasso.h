/*
 * lasso.h - what the parts of lasso share: the options, the data, and the schedule.
 *
 * It minimizes half the sum of squared errors, or the logistic loss, plus lambda times the sum of
 * the coefficients' absolute values, over columns that are centred and of unit norm (STRADS,
 * Section 3.3); or scikit-learn's elastic net, and glmnet's penalty of columns that have their own
 * norms.
 *
 * Callers   main() fills it in; workers and schedulers read
 * Memory    the parts'
 * Waiting   never
 */
#ifndef LASSO_LASSO_H
#define LASSO_LASSO_H

#include "cells.h"
#include "pool.h"
#include "locus_schedule.h"
#include "settings.h"

enum lasso_loss_kind { LASSO_SQUARED, LASSO_LOGISTIC };
enum lasso_order { LASSO_PRIORITY, LASSO_ROUND_ROBIN, LASSO_RANDOM };
enum lasso_table {
    LASSO_COEFFICIENTS,
    LASSO_MAILBOXES,
    LASSO_PATH = LASSO_MAILBOXES + LOCUS_SCHEDULER_TABLES, /* path.h */
    /* with checkpoints only: turns.h */
    LASSO_TURNS,
    LASSO_LOSSES,
    LASSO_TABLES
};

enum { LASSO_STALENESS_MAX = 15 };

struct lasso_options {
    struct settings common; /* epochs: passes */
    const char *response, *test, *test_response, *generate;
    uint64_t width, schedulers, depth, staleness, path;
    double lambda, alpha, correlation, tolerance;
    bool is_absolute; /* lambda; once the data are loaded it is a share */
    bool is_raw;      /* columns have their own norms, as the penalty sees them */
    int loss;         /* enum lasso_loss_kind */
    int order;        /* enum lasso_order */
};

struct lasso {
    struct lasso_options options;
    struct columns columns;
    struct cells test; /* columns are those of `columns`, and labels 0 and 1 */
    double labels[2];  /* of the logistic loss: those that are 0 and 1 */
    double largest;    /* lambda, in units: the least that leaves no coefficient */
    float *start;      /* --from: of each column the first coefficient; NULL: 0 */
    double start_intercept;
    uint64_t start_count, start_of; /* coefficients that are not 0: so many of the model's */
    struct locus_scheduler_config
        schedule; /* equal on all nodes; without callbacks, from the start */
};

/* Columns, and the intercept where there is one. */
static inline uint64_t lasso_variables(const struct lasso *l)
{
    return (uint64_t)l->columns.count + (l->options.loss == LASSO_LOGISTIC);
}

/* The column of a variable of the schedule, which is a coefficient's key. Each scheduler has
 * columns that are neighbours, for those are most often alike, and no scheduler's filter sees
 * another's. */
static inline uint64_t lasso_column(const struct lasso *l, uint64_t variable)
{
    uint64_t shares = l->options.schedulers, count = l->columns.count;
    if (shares == 1) return variable;
    uint64_t share = variable % shares, longer = count % shares;
    return share * (count / shares) + (share < longer ? share : longer) + variable / shares;
}

const char *lasso_order_name(int order);
const char *lasso_loss_name(int loss);

/* The lambda of step 0 ... path - 1: down to the wanted one, in equal ratios. */
double lasso_lambda(const struct lasso *, uint64_t step);

#endif
