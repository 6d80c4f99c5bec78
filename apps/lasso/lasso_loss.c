#include "lasso_loss.h"

#include "fail.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_logistic(const struct lasso *l)
{
    return l->options.loss == LASSO_LOGISTIC;
}

/* ---- the penalty ---- */

/* What a coefficient of a column of unit norm is multiplied with before it is penalized. */
static double weight_of(const struct lasso *l, uint64_t column)
{
    const double most = 1e150; /* its square is a number */
    const struct columns *c = &l->columns;
    return l->options.is_raw ? fmin(sqrt(c->rows) / c->norm[column], most) : 1;
}

/* The share of squares, where coefficients are counted in units. */
static double ridge_of(const struct lasso *l)
{
    return (1 - l->options.alpha) * l->columns.unit / sqrt(l->columns.rows);
}

double lasso_loss_penalty(const struct lasso *l, uint64_t column, double value)
{
    double weighed = fabs(value) * weight_of(l, column);
    return weighed * (l->options.alpha + ridge_of(l) / 2 * weighed);
}

static void set_largest(struct lasso *l)
{
    const struct columns *c = &l->columns;
    for (uint32_t j = 0; j < c->count; j++) {
        double product = fabs(columns_dot(c, c->start[j], c->start[j + 1], c->response));
        l->largest = fmax(l->largest, product / (l->options.alpha * weight_of(l, j)));
    }
}

/* ---- labels ---- */

static void set_labels(struct lasso *l)
{
    struct columns *c = &l->columns;
    const char *path = l->options.response ? l->options.response : l->options.common.data;
    double low = c->response[0], high = low;
    for (uint32_t r = 1; r < c->rows; r++) {
        low = fmin(low, c->response[r]);
        high = fmax(high, c->response[r]);
    }
    double wide = high - low;
    if (wide <= 0)
        fail("%s: all rows have the response %g: --loss logistic takes labels, of which there are "
             "two in all, like -1 and 1",
             path, low * c->unit + c->response_mean);
    for (uint32_t r = 0; r < c->rows; r++) {
        double from_end = fmin(c->response[r] - low, high - c->response[r]);
        if (from_end > 1e-9 * wide)
            fail("%s: row %u has the response %g: --loss logistic takes labels, of which there are "
                 "two in all, like -1 and 1",
                 path, r + 1, c->response[r] * c->unit + c->response_mean);
    }
    l->labels[0] = low * c->unit + c->response_mean;
    l->labels[1] = high * c->unit + c->response_mean;
    c->response_mean = -low / wide;
    c->unit = 1;
    for (uint32_t r = 0; r < c->rows; r++) c->response[r] /= wide;
    c->response_squares /= wide * wide;
}

static void set_steepest(struct lasso *l)
{
    struct columns *c = &l->columns;
    c->steepest = take_memory(c->count, sizeof *c->steepest);
    for (uint32_t j = 0; j < c->count; j++)
        for (uint64_t i = c->start[j]; i < c->start[j + 1]; i++)
            c->steepest[j] = fmax(c->steepest[j], fabs((double)c->value[i]));
}

void lasso_loss_prepare(struct lasso *l)
{
    if (is_logistic(l)) {
        set_labels(l);
        set_steepest(l);
    }
    set_largest(l);
}

/* ---- life ---- */

/* Without coefficients the share of ones is the best probability: errors are the centred response,
 * for both. */
void lasso_loss_open(struct lasso_loss *s, const struct lasso *l, uint32_t first, uint32_t end)
{
    const struct columns *c = &l->columns;
    *s = (struct lasso_loss){.lasso = l, .first = first, .end = end};
    s->errors = take_memory(c->rows, sizeof *s->errors);
    memcpy(s->errors + first, c->response + first, (end - first) * sizeof *s->errors);
    if (!is_logistic(l)) return;
    s->margin = take_memory(c->rows, sizeof *s->margin);
    s->odds = take_memory(c->rows, sizeof *s->odds);
    double odds = c->response_mean / (1 - c->response_mean);
    s->intercept = log(odds);
    for (uint32_t r = first; r < end; r++) s->odds[r] = odds;
}

void lasso_loss_close(struct lasso_loss *s)
{
    free(s->errors);
    free(s->margin);
    free(s->odds);
    *s = (struct lasso_loss){0};
}

/* ---- a row ---- */

static double label(const struct lasso_loss *s, uint32_t row)
{
    const struct columns *c = &s->lasso->columns;
    return c->response[row] + c->response_mean;
}

void lasso_loss_set_odds(struct lasso_loss *s, uint32_t row, double odds)
{
    s->odds[row] = odds;
    s->errors[row] = label(s, row) - odds / (1 + odds);
}

/* What the odds grow by is cheaper than what they are. But far out they are from the margin, which
 * is as it was after they have come back. */
static void grow_odds(struct lasso_loss *s, uint32_t row, double factor)
{
    const double large = 1e100, largest = 1e300;
    double odds = s->odds[row] * factor;
    if (!(odds > 1 / large && odds < large))
        odds = fmin(exp(s->margin[row] + s->intercept), largest);
    lasso_loss_set_odds(s, row, odds);
}

/* Minus the logarithm of the probability of its label, where that has enough digits; or log(1 +
 * exp(x)) - label * x, where exp(x) may be too large. */
static double logistic_of(const struct lasso_loss *s, uint32_t row)
{
    double wrong = fabs(s->errors[row]), x = s->margin[row] + s->intercept;
    if (wrong < 0.999) return -log(1 - wrong);
    return fmax(x, 0) + log1p(exp(-fabs(x))) - label(s, row) * x;
}

static double squared_of(const struct lasso_loss *s, uint32_t row)
{
    double error = s->errors[row] + s->shift;
    return error * error / 2;
}

double lasso_loss_value(const struct lasso_loss *s)
{
    double sum = 0;
    for (uint32_t r = s->first; r < s->end; r++)
        sum += s->margin ? logistic_of(s, r) : squared_of(s, r);
    return sum;
}

/* ---- a coefficient ---- */

/* p (1 - p): an error is p, or p - 1. */
static double curvature_of(double error)
{
    return fabs(error) * (1 - fabs(error));
}

struct lasso_slope lasso_loss_product(const struct lasso_loss *s, uint64_t from, uint64_t to)
{
    const struct columns *c = &s->lasso->columns;
    if (!s->margin) return (struct lasso_slope){columns_dot(c, from, to, s->errors), 1};
    struct lasso_slope slope = {0};
    for (uint64_t i = from; i < to; i++) {
        double value = (double)c->value[i], error = s->errors[c->row[i]];
        slope.product += value * error;
        slope.curvature += value * value * curvature_of(error);
    }
    return slope;
}

/* Of the largest curvature: below that probabilities are 0 and 1 to the last digit. */
static const double LEAST = 1e-12;

/* What is left when a value is drawn toward 0 by lambda (STRADS, Section 3.3). */
static double shrink(double value, double lambda)
{
    if (value > lambda) return value - lambda;
    return value < -lambda ? value + lambda : 0;
}

/* Of the column's values as they are: centred they have 1. */
static double square_of(const struct lasso *l, uint64_t column)
{
    double shift = l->columns.shift[column];
    return is_logistic(l) ? 1 + l->columns.rows * shift * shift : 1;
}

/* Where something that falls by `slope` and weighs `lambda` for its absolute value is least, from
 * `old`, by a bound of constant curvature. */
static double best_by_square(double slope, double curvature, double old, double lambda)
{
    return shrink(slope + curvature * old, lambda) / curvature;
}

/* The same by a curvature that grows by exp(steepest t) on the way t: then the slope has fallen by
 * curvature (exp(steepest t) - 1) / steepest. At 0 it falls by twice lambda at once. */
static double best_by_growth(double slope, double curvature, double steepest, double old,
                             double lambda)
{
    double down = fabs(old) > 0 ? slope - copysign(lambda, old) : shrink(slope, lambda);
    double way = log1p(steepest * fabs(down) / curvature) / steepest;
    if (old * down >= 0 || way < fabs(old)) return old + copysign(way, down);
    double beyond = fmax(fabs(down) - 2 * lambda, 0);
    way = log1p(steepest * beyond / curvature) / steepest;
    return way > fabs(old) ? old + copysign(way, down) : 0;
}

/* A column's values sum up to rows * shift, which the errors' common part takes part in with once
 * for all workers. */
double lasso_loss_best(const struct lasso_loss *s, uint64_t column, struct lasso_slope slope,
                       double shift, double old, double lambda)
{
    const struct columns *c = &s->lasso->columns;
    if (c->norm[column] <= 0) return 0;
    double weighed = lambda * weight_of(s->lasso, column);
    double squares = weighed * ridge_of(s->lasso) * weight_of(s->lasso, column);
    double down = slope.product - squares * old, first = weighed * s->lasso->options.alpha;
    if (!s->margin)
        return best_by_square(down + shift * c->rows * c->shift[column], 1 + squares, old, first);
    double most = square_of(s->lasso, column) / 4;
    double near = best_by_square(down, most + squares, old, first);
    double here = fmax(slope.curvature, fmax(s->caution, LEAST) * most) + squares;
    double far = best_by_growth(down, here, c->steepest[column], old, first);
    return fabs(far - old) > fabs(near - old) ? far : near;
}

void lasso_loss_change(struct lasso_loss *s, uint64_t column, uint64_t from, uint64_t to,
                       double change)
{
    const struct columns *c = &s->lasso->columns;
    if (!s->margin) {
        columns_add(c, from, to, -change, s->errors);
        s->shift += change * c->shift[column];
        return;
    }
    columns_add(c, from, to, change, s->margin);
    float last = 0; /* many columns have one value alone */
    double factor = 1;
    for (uint64_t i = from; i < to; i++) {
        if (c->value[i] != last) factor = exp(change * (double)c->value[i]);
        last = c->value[i];
        grow_odds(s, c->row[i], factor);
    }
}

/* ---- the intercept ---- */

struct lasso_slope lasso_loss_slope(const struct lasso_loss *s)
{
    struct lasso_slope slope = {0};
    for (uint32_t r = s->first; r < s->end && s->margin; r++) {
        slope.product += s->errors[r];
        slope.curvature += curvature_of(s->errors[r]);
    }
    return slope;
}

void lasso_loss_move(struct lasso_loss *s, double step)
{
    if (!s->margin) return;
    double factor = exp(step);
    s->intercept += step;
    for (uint32_t r = s->first; r < s->end; r++) grow_odds(s, r, factor);
}

double lasso_loss_step(struct lasso_loss *s, struct lasso_slope slope)
{
    if (!s->margin) return 0;
    double rows = s->lasso->columns.rows,
           here = fmax(slope.curvature, fmax(s->caution, LEAST) * rows / 4);
    double near = best_by_square(slope.product, rows / 4, 0, 0);
    double far = best_by_growth(slope.product, here, 1, 0, 0);
    double step = fabs(far) > fabs(near) ? far : near;
    lasso_loss_move(s, step);
    return step * sqrt(rows);
}

/* ---- columns ---- */

double lasso_loss_mean(const struct lasso *l, uint64_t column)
{
    const struct columns *c = &l->columns;
    return sqrt(c->rows / square_of(l, column)) * fabs(c->shift[column]);
}

double lasso_loss_correlation(const struct lasso *l, uint64_t a, uint64_t b, double product)
{
    const struct columns *c = &l->columns;
    if (is_logistic(l)) return product / sqrt(square_of(l, a) * square_of(l, b));
    return product - c->rows * c->shift[a] * c->shift[b];
}
