/*
 * fold_in.h - the factor of a row that the model does not know, from its ratings: what makes the
 * squared errors and, for each cell, the regularization times the squared norm the least, while the
 * columns stay. Its bias is a number more, whose column's number is 1.
 *
 * Callers   a thread; each has its own
 * Memory    8 bytes by the square of the numbers
 * Waiting   never
 * Life      open; for each row fold_in_cell() of each of its cells, then fold_in_row(); close
 */
#ifndef MF_FOLD_IN_H
#define MF_FOLD_IN_H

#include <stddef.h>

struct fold_in {
    size_t numbers;
    double *matrix, *target; /* of the normal equations; the matrix' lower half */
};

void fold_in_open(struct fold_in *, size_t numbers);
void fold_in_close(struct fold_in *);
/* The column's numbers, and the rating less what is known without the row. */
void fold_in_cell(struct fold_in *, const float *column, double rating);
/* `ridge`: the regularization of all cells together. */
void fold_in_row(struct fold_in *, double ridge, float *row);

#endif
