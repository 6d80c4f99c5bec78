#include "turns.h"

#include "doubles.h"
#include "fail.h"
#include "rows.h"
#include "training.h"

#include <math.h>
#include <stdlib.h>

void turns_open(struct turns *t, uint64_t variables)
{
    *t = (struct turns){.variables = variables, .active = variables, .time = 1};
    t->seen = take_memory(variables, sizeof *t->seen);
    t->change = take_memory(variables, sizeof *t->change);
    for (uint64_t v = 0; v < variables; v++) t->change[v] = INFINITY;
}

void turns_close(struct turns *t)
{
    free(t->seen);
    free(t->change);
    *t = (struct turns){0};
}

void turns_disturb(struct turns *t)
{
    t->time++;
    t->at_rest = 0;
}

float turns_told(double change)
{
    return (float)sqrt(fabs(change));
}

void turns_choose(struct turns *t, uint64_t variable, bool is_active, double expected)
{
    t->active -= turns_is_active(t, variable);
    t->active += is_active;
    t->change[variable] = is_active ? turns_told(expected) : -1;
}

void turns_note(struct turns *t, uint64_t variable, double change, bool is_large)
{
    t->change[variable] = turns_told(change);
    if (is_large) {
        turns_disturb(t);
    } else if (!turns_is_at_rest(t, variable)) {
        t->seen[variable] = t->time;
        t->at_rest++;
    }
}

void turns_put(struct turns *t, uint64_t variable, bool is_at_rest, float change)
{
    t->change[variable] = change;
    t->active -= !turns_is_active(t, variable);
    if (!is_at_rest || !turns_is_active(t, variable)) return;
    t->seen[variable] = t->time;
    t->at_rest++;
}

enum { TURN_FLOATS = 2, BATCH = 1024 };

void descent_rows_tables(const struct lasso *l, struct locus_table *turns,
                         struct locus_table *losses)
{
    *turns = training_table("turns", l->columns.count, TURN_FLOATS);
    *losses = training_table("losses", l->columns.rows, DOUBLES_FLOATS);
}

/* ---- writing ---- */

typedef void fill(const void *context, uint64_t row, float *to);

static void set_rows(const struct pool_member *m, enum lasso_table table, uint64_t first,
                     uint64_t end, fill *f, const void *context)
{
    const struct pool_table *t = &m->pool->tables[table];
    locus_key *keys = take_memory(BATCH, sizeof *keys);
    float *rows = take_memory((size_t)BATCH * t->length, sizeof *rows);
    for (uint64_t at = first; at < end;) {
        size_t n = 0;
        for (; n < BATCH && at < end; n++, at++) {
            keys[n] = t->first + at;
            f(context, at, rows + n * t->length);
        }
        must(locus_set(m->worker, keys, n, rows), "setting what the descent knows");
    }
    free(keys);
    free(rows);
}

static void fill_turn(const void *context, uint64_t row, float *to)
{
    const struct turns *t = context;
    to[0] = turns_is_at_rest(t, row);
    to[1] = t->change[row];
}

static void fill_loss(const void *context, uint64_t row, float *to)
{
    const struct lasso_loss *s = context;
    doubles_put(to, &s->errors[row], 1);
}

void descent_rows_write(struct pool_member *m, const struct lasso_loss *s, const struct turns *t)
{
    uint64_t first, end;
    pool_share(t->variables, m->place, m->total, &first, &end);
    set_rows(m, LASSO_TURNS, first, end, fill_turn, t);
    set_rows(m, LASSO_LOSSES, s->first, s->end, fill_loss, s);
}

/* ---- reading ---- */

static void take_turn(void *context, uint64_t row, const float *values)
{
    turns_put(context, row, values[0] > 0, values[1]);
}

static void take_loss(void *context, uint64_t row, const float *values)
{
    struct lasso_loss *s = context;
    s->errors[row] = 0;
    doubles_add(&s->errors[row], values, 1);
}

void descent_rows_read(struct pool_member *m, struct lasso_loss *s, struct turns *t)
{
    rows_visit(m, LASSO_TURNS, 0, t->variables, take_turn, t);
    rows_visit(m, LASSO_LOSSES, s->first, s->end, take_loss, s);
}
