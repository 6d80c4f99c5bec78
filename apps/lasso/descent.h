/*
 * descent.h - coordinate descent: a worker's rows of the matrix, its errors, and the rounds that it
 * works on.
 *
 * Every worker has the errors of its own rows. For a round's coefficients it gives the products of
 * their columns with its errors; from the sums all workers know all new coefficients, and each one
 * is written by the worker whose it is.
 *
 * Rounds have active coefficients alone: those that are not 0, and those that were to change when
 * all columns were looked at last. That is done at the beginning, and when what is active rests: all
 * is done when nothing else is to change by more than the tolerance.
 *
 * Callers   main() runs descent_work() on every worker
 * Memory    a number a row, 36 bytes a column
 * Waiting   for the scheduler and for the other workers
 */
#ifndef LASSO_DESCENT_H
#define LASSO_DESCENT_H

#include "rounds.h"

/* The program: what the workers of a node share. */
struct descent_here {
    struct lasso lasso;
    struct rounds_here rounds;
};

/* A pool_work; the context is the struct training, whose program is the struct descent_here. */
void descent_work(struct pool_member *, void *training);

#endif
