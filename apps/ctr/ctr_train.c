#include "ctr_train.h"

#include "best.h"
#include "click_feed.h"
#include "counters.h"
#include "ctr_report.h"
#include "ctr_save.h"
#include "fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* More planted examples than these are not counted for what is hot. */
enum { COUNTED_MAX = 1 << 20 };

/* Uniform; weights and sums of squares begin at 0. The same for a feature whatever the cluster. */
static void draw_feature(const void *ctr, uint64_t row, float *values)
{
    const struct ctr_options *o = &((const struct ctr *)ctr)->options;
    struct rng rng;
    rng_init(&rng, o->common.seed, UINT64_C(1) << 40 | row);
    for (uint64_t i = 1; i <= o->dim; i++)
        values[i] = (float)(o->init * sqrt(12) * (rng_real(&rng) - 0.5));
}

static bool is_first(const struct pool_member *m)
{
    return m->place == 0;
}

static bool is_over(const struct ctr_training *t)
{
    uint64_t limit = t->ctr->options.common.seconds;
    return limit > 0 && meter_now() - t->began_s >= (double)limit;
}

static struct ctr_epoch run_epoch(struct ctr_training *t, struct pool_member *m,
                                  struct click_feed *feed, struct wide_deep *step)
{
    struct ctr_epoch e = {0};
    for (bool is_last = false; !is_last && !is_over(t);) {
        const struct click_batch *b = click_feed_next(feed);
        is_last = b->is_last;
        e.examples += b->examples;
        e.loss += wide_deep_train(step, b);
        world_computed(WORLD_TRAINED, b->examples);
        if (is_first(m)) meter_set(&t->meter, (uint64_t)e.examples * m->total);
    }
    wide_deep_flush(step);
    return e;
}

/* Returns whether there is time for another one, and whether it is time for a checkpoint: the same
 * on all workers. */
static bool train_epoch(struct ctr_training *t, struct pool_member *m, struct click_feed *feed,
                        struct wide_deep *step, struct progress *p, bool *is_due)
{
    uint64_t number = ++p->epochs;
    char task[32];
    snprintf(task, sizeof task, "epoch %llu", (unsigned long long)number);
    if (is_first(m)) meter_begin(&t->meter, task, "examples", t->ctr->train);
    double began = meter_now();
    struct ctr_epoch e = run_epoch(t, m, feed, step);
    double sums[] = {e.examples, e.loss, is_over(t), checkpoints_is_due(&t->checkpoints, m, p)};
    pool_sum(m, sums, sizeof sums / sizeof *sums);
    bool has_time = sums[2] == 0;
    *is_due = sums[3] > 0 && has_time;
    if (!is_first(m)) return has_time;
    meter_end(&t->meter);
    if (sums[0] == 0 && !has_time) return false; /* it has not begun */
    if (!isfinite(sums[1]))
        fail("the loss is no number any more in epoch %llu: choose a smaller --lr",
             (unsigned long long)number);
    e = (struct ctr_epoch){.examples = sums[0], .loss = sums[1], .seconds = meter_now() - began};
    ctr_report_epoch(t->ctr, number, &e);
    return has_time;
}

/* What was validated best so far, which is in a checkpoint: all workers know the epoch, the first
 * one how good it was. */
enum { BEST_EPOCH, BEST_LOG_LOSS };
static const struct best_rows best_rows[] = {{CTR_FEATURES, CTR_BEST_FEATURES},
                                             {CTR_LAYERS, CTR_BEST_LAYERS}};
enum { BEST_ROWS = sizeof best_rows / sizeof *best_rows };

static uint64_t best_epoch(const struct progress *p)
{
    return (uint64_t)p->figures[BEST_EPOCH];
}

/* The last one needs no copy, unless others go on from it. */
static void validate(struct ctr_training *t, struct pool_member *m, struct wide_deep *step,
                     struct progress *p, bool is_last)
{
    const struct ctr *c = t->ctr;
    struct ctr_quality q = ctr_quality_take(c, m, step, c->train + c->test, c->validate);
    bool is_better = best_epoch(p) == 0 || q.log_loss < p->figures[BEST_LOG_LOSS];
    if (is_first(m)) ctr_report_quality(c, "valid", p->epochs, &q);
    size_t kept = is_last && !t->checkpoints.folder ? 0 : BEST_ROWS;
    if (!best_offer(m, is_better, best_rows, kept)) return;
    p->figures[BEST_EPOCH] = (double)p->epochs;
    p->figures[BEST_LOG_LOSS] = q.log_loss;
}

static void test(struct ctr_training *t, struct pool_member *m, struct wide_deep *step,
                 uint64_t epoch)
{
    const struct ctr *c = t->ctr;
    if (c->test == 0) return;
    struct ctr_quality q = ctr_quality_take(c, m, step, c->train, c->test);
    if (is_first(m)) ctr_report_quality(c, "test", epoch, &q);
}

/* Without examples to validate with nothing is chosen, and the test says how training goes. */
static void judge(struct ctr_training *t, struct pool_member *m, struct wide_deep *step,
                  struct progress *p, bool is_last)
{
    const struct settings *s = &t->ctr->options.common;
    if (!settings_wants_choice(s, p->epochs, is_last)) return;
    if (t->ctr->validate > 0)
        validate(t, m, step, p, is_last);
    else if (!is_last)
        test(t, m, step, p->epochs);
}

/* What is tested is what is saved. */
static void choose(struct ctr_training *t, struct pool_member *m, struct wide_deep *step,
                   const struct progress *p)
{
    uint64_t best = best_epoch(p);
    if (best > 0 && best != p->epochs) best_take(m, best_rows, BEST_ROWS);
    if (best > 0 && is_first(m)) ctr_report_best(t->ctr, best);
    test(t, m, step, best > 0 ? best : p->epochs);
}

static void begin(struct ctr_training *t, struct pool_member *m, const struct progress *p)
{
    if (m->index == 0) t->began_s = meter_now() - p->seconds;
    checkpoints_begin(&t->checkpoints, m, p);
    pool_meet_here(m);
}

static void train_all(struct ctr_training *t, struct pool_member *m, struct progress *p)
{
    const struct ctr_options *o = &t->ctr->options;
    size_t most = o->batch > CTR_SCORES_OF_ROW ? o->batch : CTR_SCORES_OF_ROW;
    struct click_feed feed;
    struct wide_deep step;
    click_feed_open(&feed, t->ctr, m, p->epochs);
    wide_deep_open(&step, t->ctr, m, most);
    pool_quiesce(m);
    begin(t, m, p);
    bool has_time = true, is_due;
    while (p->epochs < o->common.epochs && has_time) {
        has_time = train_epoch(t, m, &feed, &step, p, &is_due);
        judge(t, m, &step, p, !has_time || p->epochs == o->common.epochs);
        if (is_due) checkpoints_write(&t->checkpoints, m, p);
    }
    choose(t, m, &step, p);
    wide_deep_close(&step);
    click_feed_close(&feed);
}

/* A key is accessed once for each batch that has the feature: about once for each example, where
 * it is rare, and in every batch where it is hot. */
static void keep_hot(const struct ctr *c, const struct pool_member *m)
{
    uint64_t *count = take_memory(c->features, sizeof *count);
    struct planted_click *planted_click = take_memory(1, sizeof *planted_click);
    for (uint64_t i = 0; i < c->train && (!c->planted || i < COUNTED_MAX); i++) {
        struct click click = ctr_get(c, i, planted_click);
        for (uint32_t j = 0; j < click.count; j++) count[click.feature[j]]++;
    }
    settings_keep(&c->options.common, m, count, c->features);
    free(count);
    free(planted_click);
}

void ctr_work(struct pool_member *m, void *training)
{
    struct ctr_training *t = training;
    const struct ctr *c = t->ctr;
    struct progress progress;
    if (!checkpoints_resume(&t->checkpoints, m, &progress)) {
        rows_init(m, CTR_FEATURES, draw_feature, c);
        dense_rows_init(&c->plan, m, CTR_LAYERS, c->options.common.seed);
    }
    pool_quiesce(m);
    if (m->index == 0) dense_rows_keep(&c->plan, m, CTR_LAYERS);
    if (m->index == 0 && settings_keeps(&c->options.common)) keep_hot(c, m);
    pool_quiesce(m);
    train_all(t, m, &progress);
    struct locus_stats stats = counters_take(m);
    if (is_first(m) && m->worker)
        counters_show(&stats, "accesses", m->pool->size, c->options.common.json);
    if (is_first(m) && c->options.common.out) ctr_save(c, m);
}
