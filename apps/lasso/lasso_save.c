#include "lasso_save.h"

#include "fail.h"
#include "path.h"
#include "rows.h"
#include "tensors.h"

#include <math.h>
#include <stdio.h>
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

struct path_tensors {
    uint64_t count;
    int64_t *starts, *columns;
    double *values, *intercepts, *lambdas;
};

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
static void put_model(struct path_tensors *p, size_t step, struct scaled *s,
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

static void put_noted(struct path_tensors *p, const struct lasso *l, const struct path_models *m,
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

static void put_last(struct path_tensors *p, struct scaled *s, size_t step)
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

static void make_path(struct path_tensors *p, struct scaled *last, struct pool_member *m)
{
    const struct lasso *l = last->lasso;
    size_t steps = (size_t)l->options.path;
    struct path_models models;
    path_read(&models, l, m);
    size_t most = (size_t)models.starts[steps - 1] + l->columns.count;
    *p = (struct path_tensors){.starts = take_memory(steps + 1, sizeof *p->starts),
                               .columns = take_memory(most, sizeof *p->columns),
                               .values = take_memory(most, sizeof *p->values),
                               .intercepts = take_memory(steps, sizeof *p->intercepts),
                               .lambdas = take_memory(steps, sizeof *p->lambdas)};
    for (size_t step = 0; step + 1 < steps; step++) put_noted(p, l, &models, step);
    put_last(p, last, steps - 1);
    path_models_fini(&models);
}

static void declare_path(const struct path_tensors *p, uint64_t steps, struct tensors *t)
{
    tensors_declare(t, "path.starts", TENSORS_I64, steps + 1, 0);
    tensors_declare(t, "path.columns", TENSORS_I64, p->count, 0);
    tensors_declare(t, "path.values", TENSORS_F64, p->count, 0);
    tensors_declare(t, "path.intercepts", TENSORS_F64, steps, 0);
    tensors_declare(t, "path.lambdas", TENSORS_F64, steps, 0);
}

static void write_path(const struct path_tensors *p, size_t steps, struct tensors *t)
{
    tensors_write(t, p->starts, (steps + 1) * sizeof *p->starts);
    tensors_write(t, p->columns, p->count * sizeof *p->columns);
    tensors_write(t, p->values, p->count * sizeof *p->values);
    tensors_write(t, p->intercepts, steps * sizeof *p->intercepts);
    tensors_write(t, p->lambdas, steps * sizeof *p->lambdas);
}

/* ---- the file ---- */

static void note(struct tensors *t, const struct lasso *l, double intercept)
{
    tensors_note(t, "model", "lasso");
    tensors_note(t, "loss", lasso_loss_name(l->options.loss));
    tensors_note_number(t, "intercept", intercept);
    tensors_note_number(t, "lambda", lasso_lambda(l, l->options.path - 1) * l->columns.unit);
}

void lasso_save(const struct lasso *l, struct pool_member *m, double intercept)
{
    const struct columns *c = &l->columns;
    struct scaled s = {.lasso = l, .intercept = first_intercept(l, intercept)};
    struct path_tensors p = {0};
    size_t steps = (size_t)l->options.path;
    struct tensors t;
    s.coefficients = take_memory(c->count, sizeof *s.coefficients);
    rows_visit(m, LASSO_COEFFICIENTS, 0, c->count, take_coefficient, &s);
    if (steps > 1) make_path(&p, &s, m);
    tensors_open(&t, l->options.common.out);
    note(&t, l, s.intercept);
    tensors_declare(&t, "coefficients", TENSORS_F64, c->count, 0);
    if (c->names.count > 0) tensors_declare(&t, "columns", TENSORS_U8, c->names.text_length, 0);
    if (steps > 1) declare_path(&p, steps, &t);
    tensors_begin(&t);
    tensors_write(&t, s.coefficients, c->count * sizeof *s.coefficients);
    if (c->names.count > 0) tensors_write_names(&t, &c->names);
    if (steps > 1) write_path(&p, steps, &t);
    tensors_close(&t);
    free(s.coefficients);
    free(p.starts);
    free(p.columns);
    free(p.values);
    free(p.intercepts);
    free(p.lambdas);
}
