#include "ctr_train.h"

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

static void test_and_report(struct ctr_training *t, struct pool_member *m, struct wide_deep *step,
                            uint64_t epoch)
{
    if (t->ctr->test == 0) return;
    struct ctr_quality q = ctr_quality_test(t->ctr, m, step);
    if (!is_first(m)) return;
    ctr_report_quality(t->ctr, "test", epoch, &q);
    if (t->best_epoch == 0 || q.log_loss < t->best.log_loss) {
        t->best = q;
        t->best_epoch = epoch;
    }
}

/* The best test so far is the first worker's, and goes on from a checkpoint with it. */
enum { BEST_EPOCH, BEST_AUC, BEST_LOG_LOSS, BEST_CALIBRATION, BEST_ERROR, BEST_SECONDS };

static void put_best(const struct ctr_training *t, struct progress *p)
{
    p->figures[BEST_EPOCH] = (double)t->best_epoch;
    p->figures[BEST_AUC] = t->best.auc;
    p->figures[BEST_LOG_LOSS] = t->best.log_loss;
    p->figures[BEST_CALIBRATION] = t->best.calibration;
    p->figures[BEST_ERROR] = t->best.calibration_error;
    p->figures[BEST_SECONDS] = t->best.seconds;
}

static void take_best(struct ctr_training *t, const struct progress *p)
{
    t->best_epoch = (uint64_t)p->figures[BEST_EPOCH];
    t->best = (struct ctr_quality){.auc = p->figures[BEST_AUC],
                                   .log_loss = p->figures[BEST_LOG_LOSS],
                                   .calibration = p->figures[BEST_CALIBRATION],
                                   .calibration_error = p->figures[BEST_ERROR],
                                   .seconds = p->figures[BEST_SECONDS]};
}

static void begin(struct ctr_training *t, struct pool_member *m, const struct progress *p)
{
    if (is_first(m)) take_best(t, p);
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
        if (has_time && settings_wants_evaluation(&o->common, p->epochs))
            test_and_report(t, m, &step, p->epochs);
        if (is_first(m)) put_best(t, p);
        if (is_due) checkpoints_write(&t->checkpoints, m, p);
    }
    test_and_report(t, m, &step, p->epochs);
    if (is_first(m) && t->best_epoch > 0)
        ctr_report_quality(t->ctr, "best", t->best_epoch, &t->best);
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
