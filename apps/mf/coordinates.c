#include "coordinates.h"

#include "fail.h"
#include "vec.h"
#include "visit.h"

#include <stdlib.h>
#include <string.h>

enum { INTENT_KEYS = 4096 };

/* ---- life ---- */

static uint32_t own_of(const struct rating *cell, bool is_columns)
{
    return is_columns ? cell->column : cell->row;
}

/* This worker's share: about as many cells as others have. */
static void take_share(struct coordinates_phase *p, const struct coordinates *c, bool is_columns)
{
    const struct ratings *r = &c->mf->ratings;
    uint32_t count = is_columns ? r->columns : r->rows;
    uint64_t *weights = take_memory(count, sizeof *weights);
    uint32_t *bounds = take_memory(c->member->total + 1, sizeof *bounds);
    for (size_t i = 0; i < r->train; i++) weights[own_of(&r->list[i], is_columns)]++;
    visit_cut(weights, count, c->member->total, bounds);
    p->first = bounds[c->member->place];
    p->end = bounds[c->member->place + 1];
    free(weights);
    free(bounds);
}

static bool has_cell(const struct coordinates_phase *p, const struct rating *cell, bool is_columns)
{
    uint32_t own = own_of(cell, is_columns);
    return own >= p->first && own < p->end;
}

static void take_cells(struct coordinates_phase *p, const struct coordinates *c, bool is_columns)
{
    const struct ratings *r = &c->mf->ratings;
    uint32_t count = p->end - p->first;
    p->start = take_memory((size_t)count + 2, sizeof *p->start);
    for (size_t i = 0; i < r->train; i++)
        if (has_cell(p, &r->list[i], is_columns))
            p->start[own_of(&r->list[i], is_columns) - p->first + 2]++;
    for (uint32_t i = 0; i < count; i++) p->start[i + 2] += p->start[i + 1];
    p->other = take_memory(p->start[count + 1] + 1, sizeof *p->other);
    p->value = take_memory(p->start[count + 1] + 1, sizeof *p->value);
    for (size_t i = 0; i < r->train; i++) {
        const struct rating *cell = &r->list[i];
        if (!has_cell(p, cell, is_columns)) continue;
        size_t at = p->start[own_of(cell, is_columns) - p->first + 1]++;
        p->other[at] = own_of(cell, !is_columns);
        p->value[at] = cell->value - (float)r->mean;
    }
    p->own = is_columns ? mf_column_key(c->mf, 0) : mf_row_key(0);
    p->others = is_columns ? mf_row_key(0) : mf_column_key(c->mf, 0);
}

static size_t longest_of(const struct coordinates *c)
{
    size_t longest = 1;
    for (int i = 0; i < 2; i++)
        for (uint32_t j = 0; j < c->phases[i].end - c->phases[i].first; j++) {
            size_t length = c->phases[i].start[j + 1] - c->phases[i].start[j];
            if (length > longest) longest = length;
        }
    return longest;
}

void coordinates_open(struct coordinates *c, const struct mf *f, struct pool_member *m)
{
    *c = (struct coordinates){.mf = f, .member = m};
    for (int i = 0; i < 2; i++) {
        take_share(&c->phases[i], c, i);
        take_cells(&c->phases[i], c, i);
    }
    size_t longest = longest_of(c);
    params_open(&c->params, m, longest + 1, (longest + 1) * f->options.rank);
    c->keys = take_memory(longest + 1, sizeof *c->keys);
    c->rows = take_memory(longest + 1, sizeof *c->rows);
    c->errors = take_memory(longest, sizeof *c->errors);
    c->factor = take_memory(f->options.rank, sizeof *c->factor);
}

void coordinates_close(struct coordinates *c)
{
    params_close(&c->params);
    for (int i = 0; i < 2; i++) {
        free(c->phases[i].start);
        free(c->phases[i].other);
        free(c->phases[i].value);
    }
    free(c->keys);
    free(c->rows);
    free(c->errors);
    free(c->factor);
    *c = (struct coordinates){0};
}

/* ---- a factor ---- */

/* The coordinate that makes its squared errors and its own square least: products of the errors
 * without it, over the squares of what it is multiplied with. */
static void change_coordinate(struct coordinates *c, const float *const *others, size_t n, size_t k)
{
    double product = 0, squares = c->mf->options.regularization;
    float old = c->factor[k];
    for (size_t i = 0; i < n; i++) {
        double h = (double)others[i][k];
        product += ((double)c->errors[i] + (double)old * h) * h;
        squares += h * h;
    }
    float now = squares > 0 ? (float)(product / squares) : 0;
    for (size_t i = 0; i < n; i++) c->errors[i] -= (now - old) * others[i][k];
    c->factor[k] = now;
}

static void write_factor(const struct coordinates *c, locus_key key)
{
    const struct pool_table *t = pool_table_of(c->member->pool, key);
    if (c->member->worker) {
        must(locus_set(c->member->worker, &key, 1, c->factor), "set");
    } else {
        memcpy(t->values + (key - t->first) * t->length, c->factor, t->length * sizeof *c->factor);
    }
}

/* Adds its squared errors and its squared norm. */
static void change_factor(struct coordinates *c, const struct coordinates_phase *p, uint32_t i,
                          double *squares, double *norms)
{
    size_t first = p->start[i], n = p->start[i + 1] - first, rank = c->mf->options.rank;
    c->keys[0] = p->own + p->first + i;
    for (size_t j = 0; j < n; j++) c->keys[j + 1] = p->others + p->other[first + j];
    params_read(&c->params, c->keys, n + 1, c->rows);
    memcpy(c->factor, c->rows[0], rank * sizeof *c->factor);
    for (size_t j = 0; j < n; j++)
        c->errors[j] = p->value[first + j] - vec_best()->dot(c->factor, c->rows[j + 1], rank);
    for (size_t k = 0; k < rank; k++) change_coordinate(c, c->rows + 1, n, k);
    params_release(&c->params);
    write_factor(c, c->keys[0]);
    for (size_t j = 0; j < n; j++) *squares += (double)c->errors[j] * (double)c->errors[j];
    for (size_t k = 0; k < rank; k++) *norms += (double)c->factor[k] * (double)c->factor[k];
}

/* ---- a phase ---- */

static void intend_range(const struct coordinates *c, const locus_key *keys, size_t n)
{
    locus_clock next = locus_current_clock(c->member->worker) + 1;
    must_intend(locus_intent(c->member->worker, keys, n, next, next + 1));
}

/* What the next phase reads and writes here. The same keys may come again and again. */
static void intend(const struct coordinates *c, const struct coordinates_phase *p)
{
    locus_key keys[INTENT_KEYS];
    size_t n = 0, cells = p->start[p->end - p->first];
    for (size_t i = 0; i < cells; i++) {
        keys[n++] = p->others + p->other[i];
        if (n < INTENT_KEYS && i + 1 < cells) continue;
        intend_range(c, keys, n);
        n = 0;
    }
    for (uint32_t i = p->first; i < p->end; i++) {
        keys[n++] = p->own + i;
        if (n < INTENT_KEYS && i + 1 < p->end) continue;
        intend_range(c, keys, n);
        n = 0;
    }
}

static void do_phase(struct coordinates *c, const struct coordinates_phase *p, double *squares,
                     double *norms)
{
    *squares = 0;
    if (c->member->worker) intend(c, p);
    if (c->member->worker) locus_advance_clock(c->member->worker);
    for (uint32_t i = 0; i < p->end - p->first; i++) change_factor(c, p, i, squares, norms);
    pool_quiesce(c->member);
}

void coordinates_sweep(struct coordinates *c, double *squares, double *norms)
{
    *norms = 0;
    for (int i = 0; i < 2; i++) do_phase(c, &c->phases[i], squares, norms);
}
