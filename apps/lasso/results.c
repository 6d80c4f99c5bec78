#include "results.h"

#include "fail.h"
#include "json.h"
#include "rows.h"
#include "run_log.h"
#include "saved.h"
#include "tensors.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- on the way ---- */

static double objective(const struct lasso *l, const struct lasso_progress *p)
{
    return p->objective * l->columns.unit * l->columns.unit;
}

static void write_event(const struct lasso *l, const struct lasso_progress *p, const char *event)
{
    struct json j;
    json_begin(&j, event);
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

static void draw(const struct lasso *l, const struct lasso_progress *p)
{
    run_log_point("Objective", objective(l, p));
    run_log_point("Coefficients that are not 0", p->nonzero);
}

void lasso_report_progress(const struct lasso *l, const struct lasso_progress *p)
{
    draw(l, p);
    if (l->options.common.json) write_event(l, p, "progress");
}

void lasso_report_end(const struct lasso *l, const struct lasso_progress *p)
{
    draw(l, p);
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

/* ---- a model to begin with ---- */

/* A constant column has no norm. */
static void start_columns(struct lasso *l, const struct saved *s, const struct saved_tensor *t,
                          const struct names *n)
{
    const struct columns *c = &l->columns;
    for (uint32_t j = 0; j < c->count; j++) {
        uint32_t at = columns_find_number(n, t->rows, columns_number(&c->names, j));
        double value = at == NAMES_NONE ? 0 : ((const double *)t->values)[at];
        l->start[j] = (float)(value * c->norm[j] / c->unit);
        if (!isfinite(l->start[j]))
            saved_fail(s, "has coefficients that are no numbers, or too large (--from)");
        l->start_count += fabsf(l->start[j]) > 0;
    }
}

void lasso_start_load(struct lasso *l)
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
    start_columns(l, &s, t, &names);
    if (l->start_count == 0 && l->start_of > 0)
        saved_fail(&s, "has no coefficient of a column of the data (--from)");
    names_fini(&names);
    saved_close(&s);
}

/* ---- the model ---- */

/* For columns as they are: a centred one of unit norm is (x - mean) / norm. */
struct model {
    const struct lasso *lasso;
    double *coefficients; /* by column */
    double intercept;
};

static void take_coefficient(void *model, uint64_t j, const float *value)
{
    struct model *m = model;
    const struct columns *c = &m->lasso->columns;
    m->coefficients[j] = c->norm[j] > 0 ? (double)*value * c->unit / c->norm[j] : 0;
    m->intercept -= m->coefficients[j] * c->mean[j];
}

static void save(const struct model *m)
{
    const struct lasso *l = m->lasso;
    const struct columns *c = &l->columns;
    struct tensors t;
    tensors_open(&t, l->options.common.out);
    tensors_note(&t, "model", "lasso");
    tensors_note(&t, "loss", "squared");
    tensors_note_number(&t, "intercept", m->intercept);
    tensors_note_number(&t, "lambda", l->largest * l->options.lambda * c->unit);
    tensors_declare(&t, "coefficients", TENSORS_F64, c->count, 0);
    tensors_declare_names(&t, "columns", &c->names);
    tensors_begin(&t);
    tensors_write(&t, m->coefficients, c->count * sizeof *m->coefficients);
    tensors_write_names(&t, &c->names);
    tensors_close(&t);
}

/* ---- other data ---- */

void lasso_test_load(struct lasso *l)
{
    const char *path = l->options.test;
    struct cells *c = &l->test;
    size_t known = 0;
    if (!path) return;
    cells_read(c, path);
    for (size_t i = 0; i < c->count; i++) {
        uint32_t index = c->list[i].column + 1;
        uint32_t column = columns_find_number(&l->columns.names, l->columns.count, index);
        c->list[known] = (struct cell_value){c->list[i].row, column, c->list[i].value};
        known += column != NAMES_NONE;
    }
    c->count = known;
}

static void test(const struct model *m)
{
    const struct lasso *l = m->lasso;
    const struct cells *c = &l->test;
    double squares = 0, absolutes = 0, *predicted = take_memory(c->rows, sizeof *predicted);
    for (size_t r = 0; r < c->rows; r++) predicted[r] = m->intercept;
    for (size_t i = 0; i < c->count; i++)
        predicted[c->list[i].row] += m->coefficients[c->list[i].column] * c->list[i].value;
    for (size_t r = 0; r < c->rows; r++) {
        double error = predicted[r] - c->response[r];
        squares += error * error;
        absolutes += fabs(error);
    }
    free(predicted);
    double rmse = sqrt(squares / (double)c->rows), mae = absolutes / (double)c->rows;
    if (!l->options.common.json) {
        printf("test: RMSE %-12.9g  MAE %.9g\n", rmse, mae);
        return;
    }
    struct json j;
    json_begin(&j, "eval");
    json_text(&j, "split", "test");
    json_number(&j, "rmse", rmse);
    json_number(&j, "mae", mae);
    json_end(&j);
}

void lasso_use_model(const struct lasso *l, struct pool_member *member)
{
    struct model m = {.lasso = l, .intercept = l->columns.response_mean};
    if (!l->options.common.out && !l->options.test) return;
    m.coefficients = take_memory(l->columns.count, sizeof *m.coefficients);
    rows_visit(member, LASSO_COEFFICIENTS, 0, l->columns.count, take_coefficient, &m);
    if (l->options.test) test(&m);
    if (l->options.common.out) save(&m);
    free(m.coefficients);
}
