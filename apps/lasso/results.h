/*
 * results.h - what comes of the descent: what is said of it on the way, the model as a file, and
 * how well it predicts other data.
 *
 * The file (--out) is safetensors, for columns as the data has them, in doubles: a prediction is
 * the intercept, which is a note, and the sum of `coefficients` times values. Where only the
 * columns with values are columns, `columns` has their numbers, from 1, a line each.
 *
 * Callers   the first worker of rank 0; main() of all loads
 * Memory    8 bytes a column; of the test data 16 bytes a value, and 16 a row
 * Waiting   for stdout, the disk, and rows of other nodes
 */
#ifndef LASSO_RESULTS_H
#define LASSO_RESULTS_H

#include "lasso.h"

/* How far it is. `objective`, `nonzero` are before round `rounds`. */
struct lasso_progress {
    double lambda, objective, nonzero, seconds;
    uint64_t rounds, updates; /* since the start */
    bool is_converged;
};

void lasso_report_progress(const struct lasso *, const struct lasso_progress *);
void lasso_report_end(const struct lasso *, const struct lasso_progress *);
void lasso_report_waits(const struct lasso *, double schedule, double others);

/* Sets the start by the model of --from. */
void lasso_start_load(struct lasso *);
/* The data of --test. */
void lasso_test_load(struct lasso *);
/* Tests the model, and saves it, if somebody wants that. */
void lasso_use_model(const struct lasso *, struct pool_member *);

#endif
