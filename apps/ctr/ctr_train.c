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

/* Returns whether there is time for another one: the same on all workers. */
static bool train_epoch(struct ctr_training *t, struct pool_member *m, struct click_feed *feed,
                        struct wide_deep *step, uint64_t number)
{
    char task[32];
    snprintf(task, sizeof task, "epoch %llu", (unsigned long long)number);
    if (is_first(m)) meter_begin(&t->meter, task, "examples", t->ctr->train);
    double began = meter_now();
    struct ctr_epoch e = run_epoch(t, m, feed, step);
    double sums[] = {e.examples, e.loss, is_over(t)};
    pool_sum(m, sums, sizeof sums / sizeof *sums);
    bool has_time = sums[2] == 0;
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

static void train_all(struct ctr_training *t, struct pool_member *m)
{
    const struct ctr_options *o = &t->ctr->options;
    size_t most = o->batch > CTR_SCORES_OF_ROW ? o->batch : CTR_SCORES_OF_ROW;
    struct click_feed feed;
    struct wide_deep step;
    click_feed_open(&feed, t->ctr, m);
    wide_deep_open(&step, t->ctr, m, most);
    pool_settle(m);
    if (m->index == 0) t->began_s = meter_now();
    pool_meet_here(m);
    bool has_time = true;
    uint64_t epoch = 0;
    while (epoch < o->common.epochs && has_time) {
        has_time = train_epoch(t, m, &feed, &step, ++epoch);
        if (has_time && settings_wants_evaluation(&o->common, epoch))
            test_and_report(t, m, &step, epoch);
    }
    test_and_report(t, m, &step, epoch);
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
    struct planted_room *room = take_memory(1, sizeof *room);
    for (uint64_t i = 0; i < c->train && (!c->planted || i < COUNTED_MAX); i++) {
        struct click click = ctr_get(c, i, room);
        for (uint32_t j = 0; j < click.count; j++) count[click.feature[j]]++;
    }
    settings_keep(&c->options.common, m, count, c->features);
    free(count);
    free(room);
}

void ctr_work(struct pool_member *m, void *training)
{
    struct ctr_training *t = training;
    const struct ctr *c = t->ctr;
    rows_init(m, CTR_FEATURES, draw_feature, c);
    dense_rows_init(&c->plan, m, CTR_LAYERS, c->options.common.seed);
    pool_settle(m);
    if (m->index == 0) dense_rows_keep(&c->plan, m, CTR_LAYERS);
    if (m->index == 0 && settings_keeps(&c->options.common)) keep_hot(c, m);
    pool_settle(m);
    train_all(t, m);
    struct locus_stats stats = counters_take(m);
    if (is_first(m) && m->worker)
        counters_show(&stats, "accesses", m->pool->size, c->options.common.json);
    if (is_first(m) && c->options.common.out) ctr_save(c, m);
}
