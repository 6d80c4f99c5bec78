/*
 * lasso_loss.h - what is minimized beside the coefficients' absolute values, over a worker's rows:
 * half the squared errors, or the logistic loss.
 *
 * Both are told by what a column's product is taken with: the errors, response less what is
 * expected; for the logistic loss that is a probability. A coefficient's step minimizes what bounds
 * the loss from above, so one step never raises it. The curvature along the column is 1 for
 * squares, for the column has unit norm. For the logistic loss it is at most a quarter of the
 * column's square; and what it is here grows by the factor exp(M t) at most on the way t, where M
 * is the column's largest value: the bound that lets the step go further is taken. Near the least
 * that is Newton's step.
 *
 * The logistic loss has an intercept, a coordinate of its own without weight, which takes what
 * centring would: columns that are centred beside their values are used as they are. So rows in
 * which nothing changes need not be looked at.
 *
 * Callers   one worker's thread
 * Memory    8 bytes a row, 24 for the logistic loss; of all, then, 8 bytes a column
 * Waiting   never
 * Life      open, at coefficients that are all 0; any mix of the rest; close
 */
#ifndef LASSO_LASSO_LOSS_H
#define LASSO_LASSO_LOSS_H

#include "lasso.h"

struct lasso_loss {
    const struct lasso *lasso;
    uint32_t first, end; /* this worker's rows */
    /* Response less what is expected; with squares that and `shift`: columns that are centred
     * beside their values change all rows alike. */
    double *errors, shift;
    /* Logistic: what the coefficients give, without the intercept; and the odds of a 1, which
     * errors follow from. */
    double *margin, *odds;
    double intercept;
    /* Logistic: steps take the curvature for no less than this share of the largest one. Not 0 only
     * where coefficients that were updated at once have raised the objective together. */
    double caution;
};

/* Sets the largest lambda. For the logistic loss the response becomes 0 and 1; gives up unless it
 * has two values. */
void lasso_loss_prepare(struct lasso *);

void lasso_loss_open(struct lasso_loss *, const struct lasso *, uint32_t first, uint32_t end);
void lasso_loss_close(struct lasso_loss *);

/* Along a column: its product with the errors, which is what the loss falls by; and the loss's
 * second derivative. */
struct lasso_slope {
    double product, curvature;
};

/* Of this worker's rows. */
double lasso_loss_value(const struct lasso_loss *);
/* Over the column's values from `from` to before `to`, which are those of this worker's rows. */
struct lasso_slope lasso_loss_product(const struct lasso_loss *, uint64_t from, uint64_t to);

/* The best value of a coefficient that has been `old`, from the sums of all workers, and what
 * `shift` was when they were taken. The same on all of them. */
double lasso_loss_best(const struct lasso_loss *, uint64_t column, struct lasso_slope, double shift,
                       double old, double lambda);
/* What lambda multiplies, of one coefficient: alpha |b| + (1 - alpha) b^2 / (2 sqrt(rows)), where b
 * is that of the column with unit norm, or of the column as it is times the root of the rows: n
 * times scikit-learn's penalty, whose lambda is this one by sqrt(n). It is glmnet's, too, of the
 * logistic loss; of the squared one glmnet divides the squares by the deviation of the response. */
double lasso_loss_penalty(const struct lasso *, uint64_t column, double value);
/* The coefficient has changed. */
void lasso_loss_change(struct lasso_loss *, uint64_t column, uint64_t from, uint64_t to,
                       double change);

/* The odds of a row of a logistic loss, as they were. */
void lasso_loss_set_odds(struct lasso_loss *, uint32_t row, double odds);

/* The intercept: what workers sum up, and the step that follows from the sum; returns how far a
 * coefficient of a column of unit norm would have gone. With squares both are 0. */
struct lasso_slope lasso_loss_slope(const struct lasso_loss *);
double lasso_loss_step(struct lasso_loss *, struct lasso_slope);
/* The step alone. */
void lasso_loss_move(struct lasso_loss *, double step);

/* What a column as the loss uses it and the intercept's have in common: 0 to 1. */
double lasso_loss_mean(const struct lasso *, uint64_t column);
/* Of two columns, from the product of their values as they are: as the loss uses them. */
double lasso_loss_correlation(const struct lasso *, uint64_t a, uint64_t b, double product);

#endif
