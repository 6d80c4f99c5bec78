#include "mf_train.h"

#include "coordinates.h"
#include "fail.h"
#include "mf_report.h"
#include "pace.h"
#include "mf_save.h"
#include "rmse.h"
#include "rows.h"
#include "counters.h"

#include <stdlib.h>
#include <math.h>
#include <stdio.h>

struct first_values {
    const struct mf *mf;
    enum mf_table table;
};

/* Uniform; products of two factors have the wanted standard deviation. The same for a factor
 * whatever the cluster. Biases and sums of squares begin at 0. */
static void draw_factor(const void *first_values, uint64_t row, float *values)
{
    const struct first_values *f = first_values;
    const struct mf_options *o = &f->mf->options;
    double deviation = sqrt(o->init) * pow((double)o->rank, -0.25);
    struct rng rng;
    rng_init(&rng, o->common.seed, (UINT64_C(1) + f->table) << 40 | row);
    for (uint64_t i = 0; i < o->rank; i++)
        values[i] = (float)(deviation * sqrt(12) * (rng_real(&rng) - 0.5));
}

static bool is_first(const struct pool_member *m)
{
    return m->place == 0;
}

static bool is_over(const struct mf_training *t)
{
    uint64_t limit = t->mf->options.common.seconds;
    return limit > 0 && meter_now() - t->began_s >= (double)limit;
}

/* With blocks, workers meet within an epoch: all of them train it to its end. */
static bool ends_here(const struct mf_training *t)
{
    return t->mf->options.visit != MF_BLOCKS && is_over(t);
}

static struct mf_epoch run_epoch(struct mf_training *t, struct pool_member *m, struct visit *visit,
                                 struct factors *step)
{
    struct mf_epoch e = {0};
    struct pace pace;
    uint32_t blocks = 0;
    bool has_blocks = t->mf->options.visit == MF_BLOCKS;
    pace_begin(&pace, m, has_blocks ? visit->blocks : visit->count, has_blocks ? visit->blocks : 0);
    for (bool is_last = false; !is_last && !ends_here(t);) {
        const struct visit_batch *b = visit_next(visit);
        is_last = b->is_last;
        e.cells += b->cells;
        e.squares += factors_train(step, visit, b);
        world_computed(WORLD_TRAINED, b->cells);
        blocks += b->ends_block;
        pace_done(&pace, has_blocks ? blocks : (uint64_t)e.cells);
        if (is_first(m)) meter_set(&t->meter, (uint64_t)e.cells * m->total);
    }
    pace_end(&pace);
    draft_flush(&step->draft);
    return e;
}

/* Sums over all workers: cells, squares, and who has no more time. */
static void report_epoch(struct mf_training *t, const double *sums, uint64_t number, double seconds)
{
    meter_end(&t->meter);
    if (sums[0] == 0 && sums[2] > 0) return; /* it has not begun */
    if (!isfinite(sums[1]))
        fail("the loss is no number any more in epoch %llu: choose a smaller --lr",
             (unsigned long long)number);
    const struct mf_epoch e = {.cells = sums[0], .squares = sums[1], .seconds = seconds};
    mf_report_epoch(t->mf, number, &e);
}

/* Returns whether there is time for another one: the same on all workers. */
static bool train_epoch(struct mf_training *t, struct pool_member *m, struct visit *visit,
                        struct factors *step, struct progress *p)
{
    uint64_t number = p->epochs + 1;
    char task[32];
    snprintf(task, sizeof task, "epoch %llu", (unsigned long long)number);
    if (is_first(m)) meter_begin(&t->meter, task, "cells", t->mf->ratings.train);
    double began = meter_now();
    struct mf_epoch e = run_epoch(t, m, visit, step);
    struct progress next = {.epochs = number};
    double sums[] = {e.cells, e.squares, is_over(t), checkpoints_is_due(&t->checkpoints, m, &next)};
    pool_sum(m, sums, sizeof sums / sizeof *sums);
    bool has_time = sums[2] == 0;
    *p = next;
    if (is_first(m)) report_epoch(t, sums, number, meter_now() - began);
    if (sums[3] > 0 && has_time) checkpoints_write(&t->checkpoints, m, p);
    return has_time;
}

static void test_and_report(struct mf_training *t, struct pool_member *m)
{
    if (t->mf->ratings.test == 0) return;
    struct rmse r = rmse_of_test(t->mf, m);
    if (is_first(m)) mf_report_test(t->mf, &r);
}

static void begin(struct mf_training *t, struct pool_member *m, const struct progress *p)
{
    if (m->index == 0) t->began_s = meter_now() - p->seconds;
    checkpoints_begin(&t->checkpoints, m, p);
    pool_meet_here(m);
}

static void train_all(struct mf_training *t, struct pool_member *m, struct progress *p)
{
    const struct mf_options *o = &t->mf->options;
    struct visit visit;
    struct factors step;
    visit_open(&visit, t->mf, m, p->epochs);
    factors_open(&step, t->mf, m);
    /* Sorting out the cells is not part of the first epoch. */
    pool_quiesce(m);
    begin(t, m, p);
    bool has_time = true;
    while (p->epochs < o->common.epochs && has_time) {
        has_time = train_epoch(t, m, &visit, &step, p);
        if (has_time && settings_wants_evaluation(&o->common, p->epochs)) test_and_report(t, m);
    }
    factors_close(&step);
    visit_close(&visit);
}

/* ---- coordinate descent ---- */

/* Returns whether there is time for another one. */
static bool sweep(struct mf_training *t, struct pool_member *m, struct coordinates *c,
                  struct progress *p)
{
    const struct mf *f = t->mf;
    double began = meter_now(), sums[4];
    coordinates_sweep(c, &sums[0], &sums[1]);
    p->epochs++;
    sums[2] = is_over(t);
    sums[3] = checkpoints_is_due(&t->checkpoints, m, p);
    pool_sum(m, sums, sizeof sums / sizeof *sums);
    struct mf_epoch e = {.cells = (double)f->ratings.train,
                         .squares = sums[0],
                         .seconds = meter_now() - began,
                         .objective = sums[0] + f->options.regularization * sums[1]};
    if (is_first(m)) {
        meter_set(&t->meter, p->epochs);
        mf_report_epoch(f, p->epochs, &e);
    }
    if (sums[3] > 0) checkpoints_write(&t->checkpoints, m, p);
    return sums[2] == 0;
}

static void train_by_coordinates(struct mf_training *t, struct pool_member *m, struct progress *p)
{
    const struct mf_options *o = &t->mf->options;
    struct coordinates c;
    bool has_time = true;
    coordinates_open(&c, t->mf, m);
    pool_quiesce(m);
    begin(t, m, p);
    if (is_first(m)) meter_begin(&t->meter, "training", "epochs", o->common.epochs);
    while (p->epochs < o->common.epochs && has_time) {
        has_time = sweep(t, m, &c, p);
        if (has_time && settings_wants_evaluation(&o->common, p->epochs)) test_and_report(t, m);
    }
    if (is_first(m)) meter_end(&t->meter);
    coordinates_close(&c);
}

/* A key is accessed once for each rating of its row or column. */
static void keep_hot(const struct mf *f, const struct pool_member *m)
{
    size_t keys = (size_t)f->ratings.rows + f->ratings.columns;
    uint64_t *count = take_memory(keys, sizeof *count);
    for (size_t i = 0; i < f->ratings.train; i++) {
        count[mf_row_key(f->ratings.list[i].row)]++;
        count[mf_column_key(f, f->ratings.list[i].column)]++;
    }
    settings_keep(&f->options.common, m, count, keys);
    free(count);
}

void mf_work(struct pool_member *m, void *training)
{
    struct mf_training *t = training;
    struct progress progress;
    if (!checkpoints_resume(&t->checkpoints, m, &progress)) {
        rows_init(m, MF_ROWS, draw_factor, &(struct first_values){.mf = t->mf, .table = MF_ROWS});
        rows_init(m, MF_COLS, draw_factor, &(struct first_values){.mf = t->mf, .table = MF_COLS});
    }
    if (m->index == 0 && settings_keeps(&t->mf->options.common)) keep_hot(t->mf, m);
    pool_quiesce(m);
    if (t->mf->options.method == MF_COORDINATES) {
        train_by_coordinates(t, m, &progress);
    } else {
        train_all(t, m, &progress);
    }
    pool_quiesce(m);
    test_and_report(t, m);
    struct locus_stats stats = counters_take(m);
    if (is_first(m) && m->worker)
        counters_show(&stats, "accesses", m->pool->size, t->mf->options.common.json);
    if (is_first(m) && t->mf->options.common.out) mf_save(t->mf, m);
}
