/*
 * results.h - what comes of the descent: what is said of it on the way, the models as a file, and how
 * well they predict other data.
 *
 * The file (--out) is safetensors, for columns as the data has them, in doubles: a prediction is the
 * intercept and the sum of coefficients times values. `coefficients` are those of the wanted lambda;
 * the intercept is a note. Where only the columns with values are columns, `columns` has their
 * numbers, from 1, a line each. With --path there are all models as a sparse matrix by rows, one a
 * lambda (path.starts, path.columns, path.values), `path.intercepts` and `path.lambdas`.
 *
 * Of other data (--test), for each lambda: the root of the mean square and the mean absolute error;
 * of the logistic loss the mean of the negative log likelihood, and the share of the rows whose
 * likelier label is theirs.
 *
 * Callers   the first worker of rank 0; of the test data main() loads and unloads
 * Memory    8 bytes a column; of the test data 16 bytes a value, and 16 a row
 * Waiting   for stdout, and for the disk
 */
#ifndef LASSO_RESULTS_H
#define LASSO_RESULTS_H

#include "lasso_models.h"

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
