/*
 * columns.h - a regression's data: a sparse matrix by columns, centred and of unit norm, and the
 * response.
 *
 * Where columns with values are few and have large numbers, they alone are columns. A column that
 * has values in more than half of its rows is centred value by value; of the others the mean is
 * kept beside the values: no zero becomes a number.
 *
 * Callers   main() loads (cells.h); any thread reads
 * Memory    8 bytes a value, 32 a column, 8 a row, and names
 * Waiting   never
 */
#ifndef LASSO_COLUMNS_H
#define LASSO_COLUMNS_H

#include "names.h"

struct columns {
    uint32_t rows, count;
    uint64_t *start; /* of each column among the values; one more at the end */
    uint32_t *row;   /* of each value, ascending within a column */
    float *value;    /* times 1 / norm of the column; minus `shift` it is the centred value */
    double *shift;   /* of each column: what all its rows have less; 0 where it is in the values */
    double *mean, *norm; /* of the columns as they were; a constant one has norm 0 and no values */
    double *response;    /* centred, in units */
    double unit, response_mean, response_squares; /* the sum of squares, centred, in units */
    struct names names; /* of columns that were numbered anew: what their numbers were, from 1 */
};

void columns_fini(struct columns *);
/* The column of an index from 1, by the names of the columns, if they have any; or NAMES_NONE. */
uint32_t columns_find_number(const struct names *, uint64_t columns, uint32_t index);
/* The other way round. */
uint32_t columns_number(const struct names *, uint32_t column);
uint64_t columns_digest(const struct columns *);

/* The product of a column's values with an array of rows, over those from `first` to before `end`
 * of its values; without the shift. */
double columns_dot(const struct columns *, uint64_t first, uint64_t end, const double *rows);
/* Adds scale * values. */
void columns_add(const struct columns *, uint64_t first, uint64_t end, double scale, double *rows);
/* Where a column's rows from `row` on begin among the values. */
uint64_t columns_find(const struct columns *, uint32_t column, uint32_t row);

#endif
