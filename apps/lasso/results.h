/*
 * results.h - what comes of the descent: what is said of it on the way, the models as a file, and
 * how well they predict other data.
 *
 * The file (--out) is safetensors, for columns as the data has them, in doubles: a prediction is
 * the intercept and the sum of coefficients times values. `coefficients` are those of the wanted
 * lambda; the intercept is a note. Where only the columns with values are columns, `columns` has
 * their numbers, from 1, a line each. With --path there are all models as a sparse matrix by rows,
 * one a lambda (path.starts, path.columns, path.values), `path.intercepts` and `path.lambdas`.
 *
 * Of other data (--test), for each lambda: the root of the mean square and the mean absolute error;
 * of the logistic loss the mean of the negative log likelihood, and the share of the rows whose
 * likelier label is theirs.
 *
 * Callers   the first worker of rank 0; main() of all starts, and loads and unloads
 *           the test data
 * Memory    32 bytes a column, 40 a coefficient that is not 0; of the test data 16 bytes a value,
 *           and 16 a row
 * Waiting   for stdout, the disk, and rows of other nodes
 */
#ifndef LASSO_RESULTS_H
#define LASSO_RESULTS_H

#include "lasso.h"

/* The models of all lambdas, for columns as the data has them: a sparse matrix with a row for each.
 * */
struct lasso_models {
    size_t steps;
    uint64_t count;            /* of all coefficients */
    int64_t *starts, *columns; /* of step s: starts[s] ... starts[s + 1] - 1, by column */
    double *values, *intercepts, *lambdas;
};

/* `intercept`: the descent's, of the logistic loss. */
void lasso_models_take(struct lasso_models *, const struct lasso *, struct pool_member *,
                       double intercept);
/* The other way round: sets the start by the model of --from. */
void lasso_models_start(struct lasso *);
void lasso_models_fini(struct lasso_models *);
/* The coefficients of a step, of all columns: the caller's. */
double *lasso_models_dense(const struct lasso_models *, size_t step, uint64_t columns);

/* How far it is. `objective`, `nonzero` are before round `rounds`. */
struct lasso_progress {
    uint64_t step; /* of the path */
    double lambda, objective, nonzero, seconds;
    uint64_t rounds, updates; /* since the start */
    bool is_converged;
};

/* Along the way (JSON only), and at the end of a step. */
void lasso_report_progress(const struct lasso *, const struct lasso_progress *);
void lasso_report_step(const struct lasso *, const struct lasso_progress *);
void lasso_report_waits(const struct lasso *, double schedule, double others);

void lasso_save(const struct lasso *, const struct lasso_models *);

/* Gives up where it has other labels. */
void lasso_test_load(struct lasso *);
void lasso_test_unload(struct lasso *);
void lasso_test(const struct lasso *, const struct lasso_models *);

#endif
