/*
 * lasso_save.h - writes the coefficients as safetensors: `coefficients`, one a column as the data
 * has it; the intercept is a note. Where only the columns with values are columns, `columns` has
 * their numbers, from 1, a line each.
 *
 * Callers   the first worker of rank 0, when all are done
 * Memory    a number a column
 * Waiting   for rows of other nodes, and for the disk
 */
#ifndef LASSO_LASSO_SAVE_H
#define LASSO_LASSO_SAVE_H

#include "lasso.h"

void lasso_save(const struct lasso *, struct pool_member *, double intercept);

#endif
