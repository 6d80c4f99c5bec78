#include "factors.h"

#include "fail.h"
#include "pace.h"
#include "vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOCALIZE_KEYS = 4096 };

void factors_open(struct factors *s, const struct mf *f, struct pool_member *m)
{
    size_t batch = f->options.batch;
    *s = (struct factors){.mf = f, .vec = vec_best(), .member = m};
    draft_open(&s->draft, m, 2 * batch, batch, mf_row_floats(f));
}

void factors_close(struct factors *s)
{
    draft_close(&s->draft);
    *s = (struct factors){0};
}

/* ---- one cell ---- */

struct cell {
    const struct mf *mf;
    const struct vec *vec;
    float *column;
    float value, error, rate;
    const struct vec_pairs *pairs; /* MF_BY_ROW */
    size_t pair;
};

static struct vec_factors step_of(const struct mf *f, float error, float rate)
{
    return (struct vec_factors){
        .error = error, .regularization = (float)f->options.regularization, .rate = rate};
}

/* What is to be added to a bias whose sum of squares is `sum`. */
static float bias_change(float gradient, float sum, float rate)
{
    return -rate * gradient / sqrtf(sum + gradient * gradient + 1e-10F);
}

static void train_biases(const struct mf *f, float *row, float *column, struct vec_factors step)
{
    size_t at = f->options.rank, sum = mf_row_floats(f) - 1;
    float g = step.error + step.regularization * row[at],
          h = step.error + step.regularization * column[at];
    row[at] += bias_change(g, row[sum], step.rate);
    row[sum] += g * g;
    column[at] += bias_change(h, column[sum], step.rate);
    column[sum] += h * h;
}

static float bias_of(const struct mf *f, const float *row, const float *column)
{
    size_t rank = f->options.rank;
    return (float)f->ratings.mean + (f->options.has_bias ? row[rank] + column[rank] : 0);
}

/* A locus_change of the cell's row. */
static void train_by_coordinate(void *cell, float *row, uint32_t length)
{
    struct cell *c = cell;
    const struct mf *f = c->mf;
    const struct vec_factors step =
        step_of(f, c->error = mf_predict(f, row, c->column) - c->value, c->rate);
    (void)length;
    c->vec->factors(row, c->column, f->options.rank, mf_parameters(f), step);
    if (f->options.has_bias) train_biases(f, row, c->column, step);
}

/* The same, by what was planned. */
static void train_by_row(void *cell, float *row, uint32_t length)
{
    struct cell *c = cell;
    const struct mf *f = c->mf;
    (void)length;
    c->vec->step_pair(row, c->column, f->options.rank, mf_parameters(f), c->pairs, c->pair);
    if (f->options.has_bias) train_biases(f, row, c->column, step_of(f, c->error, c->rate));
}

/* ---- blocks ---- */

static void localize_block(const struct factors *s, const struct visit *v, uint32_t block)
{
    uint32_t first = v->block_column[block], end = v->block_column[block + 1];
    locus_key *keys = take_memory(LOCALIZE_KEYS, sizeof *keys);
    for (uint32_t at = first; at < end; at += LOCALIZE_KEYS) {
        uint32_t count = end - at < LOCALIZE_KEYS ? end - at : LOCALIZE_KEYS;
        for (uint32_t i = 0; i < count; i++) keys[i] = mf_column_key(s->mf, at + i);
        must(locus_localize(s->member->worker, keys, count), "localize");
    }
    free(keys);
}

static bool has_blocks(const struct factors *s)
{
    return s->mf->options.visit == MF_BLOCKS;
}

/* ---- the step ---- */

/* Read together, while the next are fetched. */
enum { CELLS_READ = 16 };

static size_t cells_from(const struct visit_batch *b, uint32_t cell)
{
    if (cell >= b->cells) return 0;
    return b->cells - cell < CELLS_READ ? b->cells - cell : CELLS_READ;
}

static void read_cells(struct factors *s, const struct visit_batch *b, uint32_t cell)
{
    uint32_t next = cell + CELLS_READ;
    draft_read(&s->draft, b->columns + cell, cells_from(b, cell));
    if (next < b->cells) draft_prefetch(&s->draft, b->columns + next, cells_from(b, next));
}

static float rate_of(const struct factors *s)
{
    return (float)(s->mf->options.rate * s->member->rate);
}

static struct cell cell_of(const struct factors *s, const struct visit_batch *b, uint32_t i)
{
    return (struct cell){.mf = s->mf,
                         .vec = s->vec,
                         .column = s->draft.now[b->column[i]],
                         .value = b->values[i],
                         .rate = rate_of(s)};
}

static double train_one(struct factors *s, const struct visit_batch *b, uint32_t i)
{
    struct cell c = cell_of(s, b, i);
    draft_change(&s->draft, b->columns + i, train_by_coordinate, &c);
    return (double)c.error * (double)c.error;
}

/* How many cells from this one on, of those that were read, have no row and no column in common. */
static uint32_t apart_from(const struct factors *s, const struct visit_batch *b, uint32_t first)
{
    const float *const *rows = s->draft.rows + b->columns;
    uint32_t end = first + 1;
    for (; end < b->cells && end % CELLS_READ != 0 && end - first < VEC_PAIRS; end++) {
        for (uint32_t i = first; i < end; i++)
            if (b->column[i] == b->column[end] || rows[i] == rows[end]) return end - first;
    }
    return end - first;
}

static double train_pairs(struct factors *s, const struct visit_batch *b, uint32_t first,
                          uint32_t count)
{
    struct vec_pairs p;
    double squares = 0;
    memset(p.sum, 0, sizeof p.sum);
    memset(p.error, 0, sizeof p.error);
    for (uint32_t i = 0; i < count; i++) {
        p.a[i] = s->draft.rows[b->columns + first + i];
        p.b[i] = s->draft.now[b->column[first + i]];
        p.error[i] = bias_of(s->mf, p.a[i], p.b[i]) - b->values[first + i];
    }
    s->vec->plan_pairs(&p, count, s->mf->options.rank, mf_parameters(s->mf),
                       step_of(s->mf, 0, rate_of(s)));
    for (uint32_t i = 0; i < count; i++) {
        struct cell c = cell_of(s, b, first + i);
        c.error = p.error[i];
        c.pairs = &p;
        c.pair = i;
        draft_change(&s->draft, b->columns + first + i, train_by_row, &c);
        squares += (double)c.error * (double)c.error;
    }
    return squares;
}

static double train_cells(struct factors *s, const struct visit_batch *b)
{
    double squares = 0;
    bool is_by_row = s->mf->options.adagrad == MF_BY_ROW;
    draft_begin(&s->draft, b->keys, b->columns + b->cells, b->columns);
    draft_prefetch(&s->draft, b->columns, cells_from(b, 0));
    for (uint32_t i = 0, count; i < b->cells; i += count) {
        if (i % CELLS_READ == 0) read_cells(s, b, i);
        count = is_by_row ? apart_from(s, b, i) : 1;
        squares += is_by_row ? train_pairs(s, b, i, count) : train_one(s, b, i);
    }
    draft_end(&s->draft);
    return squares;
}

double factors_train(struct factors *s, const struct visit *v, const struct visit_batch *b)
{
    double squares = 0;
    if (has_blocks(s) && b->begins_block && s->member->worker) localize_block(s, v, b->block);
    if (b->cells > 0) squares = train_cells(s, b);
    pace_step(s->member);
    /* With ssp and essp a block is a clock, and nobody meets. */
    if (has_blocks(s) && b->ends_block && !s->member->pool->bound.is_on) {
        draft_flush(&s->draft);
        pool_meet(s->member);
    }
    return squares;
}
