/*
 * standard.h - makes columns centred and of unit norm, one after the other.
 *
 * Memory    that of the columns, and half as much again while their room grows
 * Waiting   never
 * Life      standard_begin; standard_add for each column; standard_end
 */
#ifndef LASSO_STANDARD_H
#define LASSO_STANDARD_H

#include "columns.h"

struct standard {
    struct columns *to;
    uint32_t added;
    uint64_t capacity; /* for values */
};

/* So many values are expected; more are allowed. */
void standard_begin(struct standard *, struct columns *, uint32_t rows, uint32_t count,
                    uint64_t values);
/* The next column: rows ascending. */
void standard_add(struct standard *, const uint32_t *rows, const double *values, uint64_t count);
/* All columns are there; the response is copied, and centred. */
void standard_end(struct standard *, const double *response);

#endif
