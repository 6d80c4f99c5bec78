/*
 * lasso_loss.h - what is minimized beside the coefficients' absolute values, over a worker's rows:
 * half the squared errors, response less what is expected. A column's product with the errors is
 * what the loss falls by along it; the curvature is 1, for the column has unit norm: so one step
 * never raises the objective.
 *
 * Callers   one worker's thread
 * Memory    8 bytes a row
 * Waiting   never
 * Life      open, at coefficients that are all 0; any mix of the rest; close
 */
#ifndef LASSO_LASSO_LOSS_H
#define LASSO_LASSO_LOSS_H

#include "lasso.h"

struct lasso_loss {
    const struct columns *columns;
    uint32_t first, end; /* this worker's rows */
    /* With `shift`: columns that are centred beside their values change all rows alike. */
    double *errors, shift;
};

/* The least lambda that leaves no coefficient. */
double lasso_loss_largest(const struct columns *);

void lasso_loss_open(struct lasso_loss *, const struct columns *, uint32_t first, uint32_t end);
void lasso_loss_close(struct lasso_loss *);

/* Of this worker's rows. */
double lasso_loss_value(const struct lasso_loss *);
/* Of a column and the errors, over the column's values from `from` to before `to`, which are those
 * of this worker's rows. */
double lasso_loss_product(const struct lasso_loss *, uint64_t from, uint64_t to);

/* The best value of a coefficient that has been `old`, from the sum of all workers' products, and
 * what `shift` was when they were taken. The same on all of them. */
double lasso_loss_best(const struct columns *, uint64_t column, double product, double shift,
                       double old, double lambda);
/* The coefficient has changed. */
void lasso_loss_change(struct lasso_loss *, uint64_t column, uint64_t from, uint64_t to,
                       double change);

#endif
