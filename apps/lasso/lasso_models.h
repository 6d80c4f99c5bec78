/*
 * lasso_models.h - what the descent found, for columns as the data has them, in doubles: the models
 * of all lambdas, a sparse matrix with a row for each. A prediction is the intercept and the sum of
 * coefficients times values.
 *
 * Callers   the first worker of rank 0, when all are done
 * Memory    40 bytes a coefficient that is not 0, 24 a column
 * Waiting   take: for rows of other nodes
 */
#ifndef LASSO_LASSO_MODELS_H
#define LASSO_LASSO_MODELS_H

#include "lasso.h"

struct lasso_models {
    size_t steps;
    uint64_t count;            /* of all coefficients */
    int64_t *starts, *columns; /* of step s: starts[s] ... starts[s + 1] - 1, by column */
    double *values, *intercepts, *lambdas;
};

/* `intercept`: the descent's, of the logistic loss. */
void lasso_models_take(struct lasso_models *, const struct lasso *, struct pool_member *,
                       double intercept);
void lasso_models_fini(struct lasso_models *);
/* The coefficients of a step, of all columns: the caller's. */
double *lasso_models_dense(const struct lasso_models *, size_t step, uint64_t columns);

#endif
