/*
 * lasso_save.h - writes what the descent found as safetensors, for columns as the data has them, in
 * doubles: a prediction is the intercept and the sum of coefficients times values. `coefficients`
 * are those of the wanted lambda; the intercept is a note. Where only the columns with
 * values are columns, `columns` has their numbers, from 1, a line each. With --path there are all
 * models as a sparse matrix by rows, one a lambda (path.starts, path.columns, path.values),
 * `path.intercepts` and `path.lambdas`.
 *
 * Callers   the first worker of rank 0, when all are done
 * Memory    8 bytes a column
 * Waiting   for the disk
 */
#ifndef LASSO_LASSO_SAVE_H
#define LASSO_LASSO_SAVE_H

#include "lasso_models.h"

void lasso_save(const struct lasso *, const struct lasso_models *);

#endif
