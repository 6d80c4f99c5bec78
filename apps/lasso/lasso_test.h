/*
 * lasso_test.h - how well the models predict other data (--test): of each lambda, the root of the
 * mean square and the mean absolute error; of the logistic loss the mean of the negative log
 * likelihood, and the share of the rows whose likelier label is theirs.
 *
 * Callers   load, unload: main(); test: the first worker of rank 0, when all are done
 * Memory    16 bytes a value of the data, 8 a row; test: 8 a row and 8 a column
 * Waiting   for the disk
 */
#ifndef LASSO_LASSO_TEST_H
#define LASSO_LASSO_TEST_H

#include "lasso_models.h"

/* Gives up where it has other labels. */
void lasso_test_load(struct lasso *);
void lasso_test_unload(struct lasso *);
void lasso_test(const struct lasso *, const struct lasso_models *);

#endif
