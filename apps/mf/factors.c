#include "factors.h"

#include "fail.h"
#include "vec.h"

#include <math.h>
#include <stdlib.h>

enum { LOCALIZE_KEYS = 4096 };

void factors_open(struct factors *s, const struct mf *f, struct crew_member *m)
{
    size_t batch = f->options.batch;
    *s = (struct factors){.mf = f, .member = m};
    draft_open(&s->draft, m, 2 * batch, batch, 2 * mf_parameters(f));
}

void factors_close(struct factors *s)
{
    draft_close(&s->draft);
    *s = (struct factors){0};
}

/* ---- one cell ---- */

/* What is to be added to a bias whose sum of squares is `sum`. */
static float bias_change(float gradient, float sum, float rate)
{
    return -rate * gradient / sqrtf(sum + gradient * gradient + 1e-10F);
}

static void train_biases(const struct factors *s, float *update, const float *row, float *column,
                         struct vec_factors step)
{
    size_t at = s->mf->options.rank, sum = at + mf_parameters(s->mf);
    float g = step.error + step.regularization * row[at], h = step.error + step.regularization * column[at];
    update[at] = bias_change(g, row[sum], step.rate);
    update[sum] = g * g;
    column[at] += bias_change(h, column[sum], step.rate);
    column[sum] += h * h;
}

static void train_biases_now(const struct factors *s, float *row, float *column, struct vec_factors step)
{
    size_t at = s->mf->options.rank, sum = at + mf_parameters(s->mf);
    float g = step.error + step.regularization * row[at];
    row[at] += bias_change(g, row[sum], step.rate);
    row[sum] += g * g;
    float h = step.error + step.regularization * column[at];
    column[at] += bias_change(h, column[sum], step.rate);
    column[sum] += h * h;
}

/* Returns the error. */
static float train_cell(struct factors *s, size_t row_place, size_t column_place, float value)
{
    const struct vec *v = vec_best();
    const struct mf_options *o = &s->mf->options;
    size_t n = mf_parameters(s->mf), rank = o->rank;
    struct draft *d = &s->draft;
    float *column = d->now[column_place];
    float error = mf_predict(s->mf, d->rows[row_place], column) - value;
    struct vec_factors step = {.error = error, .regularization = (float)o->regularization, .rate = (float)o->rate};
    if (draft_is_plain(d)) {
        v->factors_now(d->now[row_place], column, rank, n, step);
        if (o->has_bias) train_biases_now(s, d->now[row_place], column, step);
    } else {
        v->factors(d->updates[row_place], d->rows[row_place], column, rank, n, step);
        if (o->has_bias) train_biases(s, d->updates[row_place], d->rows[row_place], column, step);
    }
    return error;
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

double factors_train(struct factors *s, const struct visit *v, const struct visit_batch *b)
{
    double squares = 0;
    if (has_blocks(s) && b->begins_block && s->member->worker) localize_block(s, v, b->block);
    if (b->cells > 0) {
        draft_begin(&s->draft, b->keys, b->columns + b->cells, b->columns);
        for (uint32_t i = 0; i < b->cells; i++) {
            float error = train_cell(s, b->columns + i, b->column[i], b->values[i]);
            squares += (double)error * (double)error;
        }
        draft_end(&s->draft);
    }
    if (s->member->worker) locus_advance_clock(s->member->worker);
    if (has_blocks(s) && b->ends_block) {
        draft_flush(&s->draft);
        crew_meet(s->member);
    }
    return squares;
}
