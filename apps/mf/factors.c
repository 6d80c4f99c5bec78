#include "factors.h"

#include "fail.h"
#include "pace.h"
#include "vec.h"

#include <math.h>
#include <stdlib.h>

enum { LOCALIZE_KEYS = 4096 };

void factors_open(struct factors *s, const struct mf *f, struct pool_member *m)
{
    size_t batch = f->options.batch;
    *s = (struct factors){.mf = f, .member = m};
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
    float *column;
    float value, error;
};

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

/* Adds the mean square of the gradient error * other + regularization * itself to the sum, and
 * returns the rate. `aa`, `bb`: of itself and of the other. */
static float rate_of(float *sum, struct vec_factors f, float aa, float bb, float ab, size_t rank)
{
    float squares = f.error * f.error * bb + 2 * f.error * f.regularization * ab +
                    f.regularization * f.regularization * aa;
    *sum += squares > 0 ? squares / (float)rank : 0;
    return f.rate / sqrtf(*sum + 1e-10F);
}

static void train_by_row(struct cell *c, float *row, struct vec_factors step)
{
    const struct mf *f = c->mf;
    size_t rank = f->options.rank, sum = mf_parameters(f);
    struct vec_products p = vec_best()->products(row, c->column, rank);
    step.error = c->error = bias_of(f, row, c->column) + p.ab - c->value;
    float row_rate = rate_of(row + sum, step, p.aa, p.bb, p.ab, rank),
          column_rate = rate_of(c->column + sum, step, p.bb, p.aa, p.ab, rank);
    vec_best()->factors_by_row(row, c->column, rank, step, row_rate, column_rate);
    if (f->options.has_bias) train_biases(f, row, c->column, step);
}

static void train_by_coordinate(struct cell *c, float *row, struct vec_factors step)
{
    const struct mf *f = c->mf;
    step.error = c->error = mf_predict(f, row, c->column) - c->value;
    vec_best()->factors(row, c->column, f->options.rank, mf_parameters(f), step);
    if (f->options.has_bias) train_biases(f, row, c->column, step);
}

/* A locus_change of the cell's row. */
static void train_cell(void *cell, float *row, uint32_t length)
{
    struct cell *c = cell;
    const struct mf_options *o = &c->mf->options;
    const struct vec_factors step = {.regularization = (float)o->regularization,
                                     .rate = (float)o->rate};
    (void)length;
    if (o->adagrad == MF_BY_ROW)
        train_by_row(c, row, step);
    else
        train_by_coordinate(c, row, step);
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

double factors_train(struct factors *s, const struct visit *v, const struct visit_batch *b)
{
    double squares = 0;
    if (has_blocks(s) && b->begins_block && s->member->worker) localize_block(s, v, b->block);
    if (b->cells > 0) {
        draft_begin(&s->draft, b->keys, b->columns + b->cells, b->columns);
        draft_prefetch(&s->draft, b->columns, cells_from(b, 0));
        for (uint32_t i = 0; i < b->cells; i++) {
            if (i % CELLS_READ == 0) read_cells(s, b, i);
            struct cell c = {
                .mf = s->mf, .column = s->draft.now[b->column[i]], .value = b->values[i]};
            draft_change(&s->draft, b->columns + i, train_cell, &c);
            squares += (double)c.error * (double)c.error;
        }
        draft_end(&s->draft);
    }
    pace_step(s->member);
    /* With ssp and essp a block is a clock, and nobody meets. */
    if (has_blocks(s) && b->ends_block && !s->member->pool->bound.is_on) {
        draft_flush(&s->draft);
        pool_meet(s->member);
    }
    return squares;
}
