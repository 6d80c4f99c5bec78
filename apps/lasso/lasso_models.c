#include "lasso_models.h"

#include "fail.h"
#include "path.h"
#include "rows.h"

#include <math.h>
#include <stdlib.h>

/* A model for columns as they are. */
struct scaled {
    const struct lasso *lasso;
    double *coefficients; /* by column; NULL: they are somewhere else */
    double intercept;
};

static bool is_logistic(const struct lasso *l)
{
    return l->options.loss == LASSO_LOGISTIC;
}

static double first_intercept(const struct lasso *l, double intercept)
{
    return is_logistic(l) ? intercept : l->columns.response_mean;
}

/* A centred column of unit norm is (x - mean) / norm, one that is used as it is x / norm: with the
 * logistic loss those whose mean is kept beside them. */
static double scale_back(struct scaled *s, uint64_t column, float value)
{
    const struct columns *c = &s->lasso->columns;
    double norm = c->norm[column], coefficient = norm > 0 ? (double)value * c->unit / norm : 0;
    bool is_as_it_is = is_logistic(s->lasso) && fabs(c->shift[column]) > 0;
    if (!is_as_it_is) s->intercept -= coefficient * c->mean[column];
    return coefficient;
}

static void take_coefficient(void *scaled, uint64_t variable, const float *value)
{
    struct scaled *s = scaled;
    uint64_t column = lasso_column(s->lasso, variable);
    s->coefficients[column] = scale_back(s, column, *value);
}

/* ---- a path ---- */

struct column_value {
    uint64_t column;
    double value;
};

static int by_column(const void *a, const void *b)
{
    const struct column_value *x = a, *y = b;
    return (x->column > y->column) - (x->column < y->column);
}

/* Puts one model behind the others, by column. */
static void put_model(struct lasso_models *p, size_t step, struct scaled *s,
                      struct column_value *list, size_t count)
{
    qsort(list, count, sizeof *list, by_column);
    for (size_t i = 0; i < count; i++, p->count++) {
        p->columns[p->count] = (int64_t)list[i].column;
        p->values[p->count] = list[i].value;
    }
    p->starts[step + 1] = (int64_t)p->count;
    p->intercepts[step] = s->intercept;
    p->lambdas[step] = lasso_lambda(s->lasso, step) * s->lasso->columns.unit;
}

static void put_noted(struct lasso_models *p, const struct lasso *l, const struct path_models *m,
                      size_t step)
{
    size_t count = (size_t)(m->starts[step + 1] - m->starts[step]);
    struct column_value *list = take_memory(count + 1, sizeof *list);
    struct scaled s = {.lasso = l, .intercept = first_intercept(l, m->intercepts[step])};
    for (size_t i = 0; i < count; i++) {
        const struct path_entry *e = &m->entries[m->starts[step] + i];
        list[i].column = lasso_column(l, e->variable);
        list[i].value = scale_back(&s, list[i].column, e->value);
    }
    put_model(p, step, &s, list, count);
    free(list);
}

static void put_last(struct lasso_models *p, struct scaled *s, size_t step)
{
    uint64_t columns = s->lasso->columns.count;
    struct column_value *list = take_memory(columns, sizeof *list);
    size_t count = 0;
    for (uint64_t j = 0; j < columns; j++)
        if (fabs(s->coefficients[j]) > 0)
            list[count++] = (struct column_value){.column = j, .value = s->coefficients[j]};
    put_model(p, step, s, list, count);
    free(list);
}

void lasso_models_take(struct lasso_models *p, const struct lasso *l, struct pool_member *m,
                       double intercept)
{
    size_t steps = (size_t)l->options.path;
    struct path_models noted;
    struct scaled last = {.lasso = l, .intercept = first_intercept(l, intercept)};
    last.coefficients = take_memory(l->columns.count, sizeof *last.coefficients);
    rows_visit(m, LASSO_COEFFICIENTS, 0, l->columns.count, take_coefficient, &last);
    path_read(&noted, l, m);
    size_t most = (size_t)noted.starts[steps - 1] + l->columns.count;
    *p = (struct lasso_models){.steps = steps,
                               .starts = take_memory(steps + 1, sizeof *p->starts),
                               .columns = take_memory(most, sizeof *p->columns),
                               .values = take_memory(most, sizeof *p->values),
                               .intercepts = take_memory(steps, sizeof *p->intercepts),
                               .lambdas = take_memory(steps, sizeof *p->lambdas)};
    for (size_t step = 0; step + 1 < steps; step++) put_noted(p, l, &noted, step);
    put_last(p, &last, steps - 1);
    path_models_fini(&noted);
    free(last.coefficients);
}

void lasso_models_fini(struct lasso_models *p)
{
    free(p->starts);
    free(p->columns);
    free(p->values);
    free(p->intercepts);
    free(p->lambdas);
    *p = (struct lasso_models){0};
}

double *lasso_models_dense(const struct lasso_models *p, size_t step, uint64_t columns)
{
    double *dense = take_memory(columns, sizeof *dense);
    for (int64_t i = p->starts[step]; i < p->starts[step + 1]; i++)
        dense[p->columns[i]] = p->values[i];
    return dense;
}
