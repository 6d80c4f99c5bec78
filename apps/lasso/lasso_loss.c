#include "lasso_loss.h"

#include "fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double lasso_loss_largest(const struct columns *c)
{
    double largest = 0;
    for (uint32_t j = 0; j < c->count; j++)
        largest = fmax(largest, fabs(columns_dot(c, c->start[j], c->start[j + 1], c->response)));
    return largest;
}

void lasso_loss_open(struct lasso_loss *s, const struct columns *c, uint32_t first, uint32_t end)
{
    *s = (struct lasso_loss){.columns = c, .first = first, .end = end};
    s->errors = take_memory(c->rows, sizeof *s->errors);
    memcpy(s->errors + first, c->response + first, (end - first) * sizeof *s->errors);
}

void lasso_loss_close(struct lasso_loss *s)
{
    free(s->errors);
    *s = (struct lasso_loss){0};
}

double lasso_loss_value(const struct lasso_loss *s)
{
    double sum = 0;
    for (uint32_t r = s->first; r < s->end; r++) {
        double error = s->errors[r] + s->shift;
        sum += error * error / 2;
    }
    return sum;
}

double lasso_loss_product(const struct lasso_loss *s, uint64_t from, uint64_t to)
{
    return columns_dot(s->columns, from, to, s->errors);
}

/* What is left when a value is drawn toward 0 by lambda (STRADS, Section 3.3). */
static double shrink(double value, double lambda)
{
    if (value > lambda) return value - lambda;
    return value < -lambda ? value + lambda : 0;
}

/* A column's values sum up to rows * shift, which the errors' common part takes part in with once
 * for all workers. */
double lasso_loss_best(const struct columns *c, uint64_t column, double product, double shift,
                       double old, double lambda)
{
    if (c->norm[column] <= 0) return 0;
    return shrink(product + shift * c->rows * c->shift[column] + old, lambda);
}

void lasso_loss_change(struct lasso_loss *s, uint64_t column, uint64_t from, uint64_t to,
                       double change)
{
    columns_add(s->columns, from, to, -change, s->errors);
    s->shift += change * s->columns->shift[column];
}
