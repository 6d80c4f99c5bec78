#include "path.h"

#include "doubles.h"
#include "fail.h"
#include "rows.h"
#include "training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool path_is_kept(const struct lasso *l)
{
    const struct settings *s = &l->options.common;
    return l->options.path > 1 && (s->out || s->checkpoints.folder || l->options.test);
}

/* Lambdas whose models are noted. */
static size_t steps_of(const struct lasso *l)
{
    return (size_t)l->options.path - 1;
}

struct locus_table path_table(const struct lasso *l)
{
    bool is_kept = path_is_kept(l);
    return training_table("path", is_kept ? l->columns.count + DOUBLES_FLOATS : 1,
                          is_kept ? steps_of(l) : 1);
}

/* ---- writing ---- */

enum { BATCH = 64 };

/* Rows that are zeros but for the step. */
struct batch {
    struct pool_member *member;
    size_t step, steps, count;
    locus_key keys[BATCH];
    float *rows;
};

static void push(struct batch *b)
{
    if (b->count > 0) must(locus_push(b->member->worker, b->keys, b->count, b->rows), "push");
    b->count = 0;
}

static void add(struct batch *b, uint64_t row, float value)
{
    const struct pool_table *t = &b->member->pool->tables[LASSO_PATH];
    if (!b->member->worker) {
        t->values[row * t->length + b->step] = value;
        return;
    }
    b->keys[b->count] = t->first + row;
    b->rows[b->count++ * b->steps + b->step] = value;
    if (b->count == BATCH) push(b);
}

void path_note(const struct lasso *l, struct pool_member *m, uint64_t step,
               const float *coefficients, double intercept)
{
    if (m->place != 0 || !path_is_kept(l) || step >= steps_of(l)) return;
    uint64_t count = l->columns.count;
    float parts[DOUBLES_FLOATS];
    struct batch b = {.member = m, .step = (size_t)step, .steps = steps_of(l)};
    b.rows = take_memory(BATCH * b.steps, sizeof *b.rows);
    for (uint64_t i = 0; i < count; i++)
        if (fabsf(coefficients[i]) > 0) add(&b, i, coefficients[i]);
    doubles_put(parts, &intercept, 1);
    for (uint64_t i = 0; i < DOUBLES_FLOATS; i++) add(&b, count + i, parts[i]);
    push(&b);
    free(b.rows);
}

/* ---- reading ---- */

struct reading {
    struct path_models *to;
    size_t steps;
    uint64_t columns, *next;             /* of each step, where its next entry goes */
    float (*intercepts)[DOUBLES_FLOATS]; /* of each step */
};

static void count_row(void *reading, uint64_t row, const float *values)
{
    const struct reading *r = reading;
    for (size_t s = 0; s < r->steps; s++) {
        if (row >= r->columns)
            r->intercepts[s][row - r->columns] = values[s];
        else
            r->to->starts[s + 1] += fabsf(values[s]) > 0;
    }
}

static void put_row(void *reading, uint64_t row, const float *values)
{
    const struct reading *r = reading;
    for (size_t s = 0; s < r->steps; s++)
        if (fabsf(values[s]) > 0)
            r->to->entries[r->next[s]++] = (struct path_entry){.variable = row, .value = values[s]};
}

void path_read(struct path_models *to, const struct lasso *l, struct pool_member *m)
{
    struct reading r = {.to = to, .steps = steps_of(l), .columns = l->columns.count};
    *to = (struct path_models){.starts = take_memory(r.steps + 1, sizeof *to->starts),
                               .intercepts = take_memory(r.steps + 1, sizeof *to->intercepts)};
    if (r.steps > 0) {
        r.intercepts = take_memory(r.steps, sizeof *r.intercepts);
        r.next = take_memory(r.steps, sizeof *r.next);
        rows_visit(m, LASSO_PATH, 0, r.columns + DOUBLES_FLOATS, count_row, &r);
    }
    for (size_t s = 0; s < r.steps; s++) {
        r.next[s] = to->starts[s];
        to->starts[s + 1] += to->starts[s];
        doubles_add(&to->intercepts[s], r.intercepts[s], 1);
    }
    to->entries = take_memory(to->starts[r.steps] + 1, sizeof *to->entries);
    if (r.steps > 0) rows_visit(m, LASSO_PATH, 0, r.columns, put_row, &r);
    free(r.next);
    free(r.intercepts);
}

void path_models_fini(struct path_models *p)
{
    free(p->entries);
    free(p->starts);
    free(p->intercepts);
    *p = (struct path_models){0};
}
