/*
 * overlap.h - which of some columns have rows in common with another one, and their products: of
 * each row it keeps which of the columns have a value there, so that those which have nothing in
 * common cost nothing.
 *
 * Callers   one scheduler's thread
 * Memory    4 bytes a row of the matrix, 12 a value of the columns kept
 * Waiting   never
 * Life      open; keep and find, again and again; close
 */
#ifndef LASSO_OVERLAP_H
#define LASSO_OVERLAP_H

#include "lasso.h"

struct overlap_value {
    uint32_t place, next; /* of its column; the next of its row and 1 */
    float value;
};

struct overlap {
    const struct lasso *lasso;
    uint64_t *kept; /* variables, at their places: their columns are meant */
    size_t count, capacity;
    uint64_t shifted; /* the column of the one with the largest shift, where there are any */
    uint32_t *first;  /* of each row: a value and 1; 0: there is none */
    struct overlap_value *values;
    size_t value_count, value_capacity;
    /* Of the last one that was looked for: places that have rows in common with it, and of each
     * place the product and in which search it was found. */
    uint32_t *found;
    size_t found_count;
    double *product;
    uint32_t *search, searches;
    uint64_t looks; /* values looked at, ever */
};

void overlap_open(struct overlap *, const struct lasso *);
void overlap_close(struct overlap *);

/* The columns are those of these variables. Fast where those of the call before come first. */
void overlap_keep(struct overlap *, const uint64_t *variables, size_t count);
/* Fills in `found` and `product`; products are those of the values, without the shifts. */
void overlap_find(struct overlap *, uint64_t column);

#endif
