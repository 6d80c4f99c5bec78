#include "results.h"

#include "fail.h"
#include "json.h"
#include "path.h"
#include "rows.h"
#include "run_log.h"
#include "saved.h"
#include "tensors.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
static double mean_off(const struct lasso *l, uint64_t column)
{
    bool is_as_it_is = is_logistic(l) && fabs(l->columns.shift[column]) > 0;
    return is_as_it_is ? 0 : l->columns.mean[column];
}

static double scale_back(struct scaled *s, uint64_t column, float value)
{
    const struct columns *c = &s->lasso->columns;
    double norm = c->norm[column], coefficient = norm > 0 ? (double)value * c->unit / norm : 0;
    s->intercept -= coefficient * mean_off(s->lasso, column);
    return coefficient;
}

static void take_coefficient(void *scaled, uint64_t variable, const float *value)
{
    struct scaled *s = scaled;
    uint64_t column = lasso_column(s->lasso, variable);
    s->coefficients[column] = scale_back(s, column, *value);
}

/* ---- from a model ---- */

static uint32_t number_of(const struct columns *c, uint32_t column)
{
    const char *name = c->names.count > 0 ? names_get(&c->names, column) : NULL;
    return name ? (uint32_t)strtoul(name, NULL, 10) : column + 1;
}

/* A constant column has no norm. */
static void start_columns(struct lasso *l, const struct saved *s, const struct saved_tensor *t,
                          const struct names *n)
{
    const struct columns *c = &l->columns;
    for (uint32_t j = 0; j < c->count; j++) {
        uint32_t at = columns_find_number(n, t->rows, number_of(c, j));
        double value = at == NAMES_NONE ? 0 : ((const double *)t->values)[at];
        l->start[j] = (float)(value * c->norm[j] / c->unit);
        if (!isfinite(l->start[j]))
            saved_fail(s, "has coefficients that are no numbers, or too large (--from)");
        if (fabsf(l->start[j]) <= 0) continue;
        l->start_intercept += value * mean_off(l, j);
        l->start_count++;
    }
}

void lasso_models_start(struct lasso *l)
{
    const char *path = l->options.common.from;
    struct saved s;
    struct names names;
    if (!path) return;
    saved_open(&s, path);
    const struct saved_tensor *t = saved_take(&s, "coefficients", TENSORS_F64, 0, 0);
    saved_names(&s, "columns", t->rows, &names);
    for (uint64_t i = 0; i < t->rows; i++) l->start_of += fabs(((const double *)t->values)[i]) > 0;
    l->start = take_memory(l->columns.count, sizeof *l->start);
    if (saved_note(&s, "intercept")) l->start_intercept = saved_number(&s, "intercept");
    start_columns(l, &s, t, &names);
    if (l->start_count == 0 && l->start_of > 0)
        saved_fail(&s, "has no coefficient of a column of the data (--from)");
    names_fini(&names);
    saved_close(&s);
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

/* ---- on the way ---- */

static double objective(const struct lasso *l, const struct lasso_progress *p)
{
    return p->objective * l->columns.unit * l->columns.unit;
}

static void write_event(const struct lasso *l, const struct lasso_progress *p, const char *event)
{
    struct json j;
    json_begin(&j, event);
    json_count(&j, "step", p->step + 1);
    json_number(&j, "lambda", p->lambda * l->columns.unit);
    json_number(&j, "lambda_ratio", p->lambda / l->largest);
    json_number(&j, "objective", objective(l, p));
    json_count(&j, "nonzero", (uint64_t)p->nonzero);
    json_count(&j, "rounds", p->rounds);
    json_count(&j, "updates", p->updates);
    json_number(&j, "seconds", p->seconds);
    json_count(&j, "converged", p->is_converged);
    json_end(&j);
}

void lasso_report_progress(const struct lasso *l, const struct lasso_progress *p)
{
    if (l->options.common.json) write_event(l, p, "progress");
}

void lasso_report_step(const struct lasso *l, const struct lasso_progress *p)
{
    run_log_point("Objective", objective(l, p));
    run_log_point("Coefficients that are not 0", p->nonzero);
    if (l->options.common.json) {
        write_event(l, p, "lambda");
        return;
    }
    printf("lambda %-12.6g  objective %-12.9g  %6.0f coefficients   %8" PRIu64 " rounds  %10" PRIu64
           " updates  %7.2f s%s\n",
           p->lambda * l->columns.unit, objective(l, p), p->nonzero, p->rounds, p->updates,
           p->seconds, p->is_converged ? "" : "   not converged");
    fflush(stdout);
}

void lasso_report_waits(const struct lasso *l, double schedule, double others)
{
    if (l->options.common.json) {
        struct json j;
        json_begin(&j, "waits");
        json_number(&j, "schedule", schedule);
        json_number(&j, "others", others);
        json_end(&j);
    } else {
        printf("workers waited %.1f %% of the time for schedules, %.1f %% for each other\n",
               100 * schedule, 100 * others);
        fflush(stdout);
    }
}

/* ---- the file ---- */

static void declare_path(const struct lasso_models *p, struct tensors *t)
{
    uint64_t steps = p->steps;
    tensors_declare(t, "path.starts", TENSORS_I64, steps + 1, 0);
    tensors_declare(t, "path.columns", TENSORS_I64, p->count, 0);
    tensors_declare(t, "path.values", TENSORS_F64, p->count, 0);
    tensors_declare(t, "path.intercepts", TENSORS_F64, steps, 0);
    tensors_declare(t, "path.lambdas", TENSORS_F64, steps, 0);
}

static void write_path(const struct lasso_models *p, struct tensors *t)
{
    size_t steps = p->steps;
    tensors_write(t, p->starts, (steps + 1) * sizeof *p->starts);
    tensors_write(t, p->columns, p->count * sizeof *p->columns);
    tensors_write(t, p->values, p->count * sizeof *p->values);
    tensors_write(t, p->intercepts, steps * sizeof *p->intercepts);
    tensors_write(t, p->lambdas, steps * sizeof *p->lambdas);
}

static void note(struct tensors *t, const struct lasso *l, const struct lasso_models *p)
{
    tensors_note(t, "model", "lasso");
    tensors_note(t, "loss", lasso_loss_name(l->options.loss));
    tensors_note_number(t, "intercept", p->intercepts[p->steps - 1]);
    tensors_note_number(t, "lambda", p->lambdas[p->steps - 1]);
}

void lasso_save(const struct lasso *l, const struct lasso_models *p)
{
    const struct columns *c = &l->columns;
    double *last = lasso_models_dense(p, p->steps - 1, c->count);
    struct tensors t;
    tensors_open(&t, l->options.common.out);
    note(&t, l, p);
    tensors_declare(&t, "coefficients", TENSORS_F64, c->count, 0);
    tensors_declare_names(&t, "columns", &c->names);
    if (p->steps > 1) declare_path(p, &t);
    tensors_begin(&t);
    tensors_write(&t, last, c->count * sizeof *last);
    tensors_write_names(&t, &c->names);
    if (p->steps > 1) write_path(p, &t);
    tensors_close(&t);
    free(last);
}

/* ---- other data ---- */

/* 0 or 1. */
static double label_of(const struct lasso *l, size_t row, double response)
{
    double low = l->labels[0], wide = l->labels[1] - low, label = round((response - low) / wide);
    if (!(fabs(response - low - label * wide) <= 1e-9 * wide) || label < 0 || label > 1)
        fail("%s: row %zu has the response %g: the labels to learn are %g and %g",
             l->options.test_response ? l->options.test_response : l->options.test, row + 1,
             response, low, l->labels[1]);
    return label;
}

void lasso_test_load(struct lasso *l)
{
    const struct lasso_options *o = &l->options;
    struct cells *c = &l->test;
    size_t known = 0;
    if (!o->test) return;
    cells_read(c, o->test, o->test_response, "--test-response");
    if (c->response_count == 0) fail("%s has no rows", o->test);
    for (size_t i = 0; i < c->count; i++) {
        uint32_t index = c->list[i].column + 1;
        uint32_t column = columns_find_number(&l->columns.names, l->columns.count, index);
        c->list[known] = (struct cell_value){c->list[i].row, column, c->list[i].value};
        known += column != NAMES_NONE;
    }
    c->count = known;
    for (size_t r = 0; r < c->response_count && o->loss == LASSO_LOGISTIC; r++)
        c->response[r] = label_of(l, r, c->response[r]);
}

void lasso_test_unload(struct lasso *l)
{
    free(l->test.list);
    free(l->test.response);
}

/* Of each row. */
static double *predict(const struct lasso *l, const struct lasso_models *m, size_t step)
{
    const struct cells *c = &l->test;
    double *coefficients = lasso_models_dense(m, step, l->columns.count);
    double *predicted = take_memory(c->response_count, sizeof *predicted);
    for (size_t r = 0; r < c->response_count; r++) predicted[r] = m->intercepts[step];
    for (size_t i = 0; i < c->count; i++)
        predicted[c->list[i].row] += coefficients[c->list[i].column] * c->list[i].value;
    free(coefficients);
    return predicted;
}

/* The two figures, means over the rows. */
static void judge(const struct lasso *l, const double *predicted, double figures[2])
{
    bool is_logistic = l->options.loss == LASSO_LOGISTIC;
    size_t rows = l->test.response_count;
    memset(figures, 0, 2 * sizeof *figures);
    for (size_t r = 0; r < rows; r++) {
        double x = predicted[r], y = l->test.response[r];
        figures[0] += is_logistic ? fmax(x, 0) + log1p(exp(-fabs(x))) - y * x : (x - y) * (x - y);
        figures[1] += is_logistic ? (x > 0) == (y > 0) : fabs(x - y);
    }
    figures[0] /= (double)rows;
    figures[1] /= (double)rows;
    if (!is_logistic) figures[0] = sqrt(figures[0]);
}

static void say(const struct lasso *l, double lambda, size_t step, const double figures[2])
{
    bool is_logistic = l->options.loss == LASSO_LOGISTIC;
    if (l->options.common.json) {
        struct json j;
        json_begin(&j, "eval");
        json_text(&j, "split", "test");
        json_count(&j, "step", step + 1);
        json_number(&j, "lambda", lambda);
        json_number(&j, is_logistic ? "log_loss" : "rmse", figures[0]);
        json_number(&j, is_logistic ? "accuracy" : "mae", figures[1]);
        json_end(&j);
    } else {
        printf("test: lambda %-12.6g  %s %-12.9g  %s %.9g\n", lambda,
               is_logistic ? "log loss" : "RMSE", figures[0], is_logistic ? "accuracy" : "MAE",
               figures[1]);
    }
}

void lasso_test(const struct lasso *l, const struct lasso_models *m)
{
    for (size_t step = 0; step < m->steps; step++) {
        double figures[2], *predicted = predict(l, m, step);
        judge(l, predicted, figures);
        say(l, m->lambdas[step], step, figures);
        free(predicted);
    }
}
