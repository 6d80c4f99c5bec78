#include "train.h"

#include "fail.h"
#include "picture.h"
#include "report.h"
#include "rows.h"
#include "save.h"
#include "counters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { EPOCHS_AT_FIRST = 64 };

void training_init(struct training *t, const struct task *task, const struct pool *pool)
{
    *t = (struct training){.task = task};
    evaluation_init(&t->evaluation, task);
    meter_init(&t->meter, pool->rank == 0);
}

void training_fini(struct training *t)
{
    evaluation_fini(&t->evaluation);
    free(t->epochs);
}

/* ---- the first values ---- */

struct first_values {
    const struct options *options;
    const struct pool_table *table;
};

/* Uniform with the wanted standard deviation; the same for a key whatever the cluster. Sums of
 * squares begin at 0. */
static void draw_row(const void *first_values, uint64_t row, float *values)
{
    const struct first_values *f = first_values;
    const struct options *o = f->options;
    struct rng rng;
    rng_init(&rng, o->common.seed, UINT64_C(1) << 40 | (f->table->first + row));
    for (size_t i = 0; i < f->table->length / 2; i++)
        values[i] = (float)(o->init * sqrt(12) * (rng_real(&rng) - 0.5));
}

static void init_table(struct pool_member *m, const struct options *o, size_t table)
{
    rows_init(m, table, draw_row,
              &(struct first_values){.options = o, .table = &m->pool->tables[table]});
}

/* ---- epochs ---- */

static bool is_first(const struct pool_member *m)
{
    return m->place == 0;
}

static bool is_over(const struct training *t)
{
    uint64_t limit = t->task->options.common.seconds;
    return limit > 0 && meter_now() - t->began_s >= (double)limit;
}

/* The batches of this worker's epoch, or as many as there is time for; sets how many facts they
 * had. Returns the sum of the losses. */
static double run_epoch(struct training *t, struct pool_member *m, struct feed *feed,
                        struct step *step, uint64_t *facts)
{
    double loss = 0;
    uint64_t done = 0;
    for (bool is_last = feed->count == 0; !is_last && !is_over(t);) {
        const struct batch *b = feed_next(feed);
        is_last = b->is_last;
        done += b->facts;
        loss += step_train(step, b);
        world_computed(WORLD_TRAINED, b->facts);
        if (is_first(m) && (done & 31) < b->facts) meter_set(&t->meter, done * m->total);
    }
    params_flush(&step->params);
    *facts = done;
    return loss;
}

static void evaluate_and_report(struct training *t, struct pool_member *m, enum graph_split split,
                                struct quality *q)
{
    struct quality quality = evaluate(&t->evaluation, m, split);
    if (is_first(m)) {
        report_quality(t->task, split, &quality);
        *q = quality;
    }
}

static struct epoch *add_epoch(struct training *t)
{
    if (t->epoch_count == t->epoch_room) {
        t->epoch_room = t->epoch_room ? 2 * t->epoch_room : EPOCHS_AT_FIRST;
        t->epochs = realloc(t->epochs, t->epoch_room * sizeof *t->epochs);
        if (!t->epochs) fail("%zu epochs find no memory", t->epoch_room);
    }
    return &t->epochs[t->epoch_count++];
}

/* Returns whether there is time for another one: the same on all workers. */
static bool train_epoch(struct training *t, struct pool_member *m, struct feed *feed,
                        struct step *step, uint64_t number)
{
    uint64_t facts;
    char task[32];
    snprintf(task, sizeof task, "epoch %llu", (unsigned long long)number);
    struct locus_stats before = counters_take(m);
    if (is_first(m))
        meter_begin(&t->meter, task, "facts", t->task->graph.splits[GRAPH_TRAIN].count);
    double began = meter_now();
    double loss = run_epoch(t, m, feed, step, &facts);
    double sums[] = {loss, (double)facts, is_over(t)};
    pool_sum(m, sums, sizeof sums / sizeof *sums);
    double seconds = meter_now() - began;
    bool has_time = sums[2] == 0;
    struct locus_stats after = counters_take(m);
    if (!is_first(m)) return has_time;
    meter_end(&t->meter);
    if (sums[1] == 0 && !has_time) return false; /* it has not begun */
    if (!isfinite(sums[0]))
        fail("the loss is no number any more in epoch %llu: choose a smaller --lr",
             (unsigned long long)number);
    double began_s = t->epoch_count ? t->epochs[t->epoch_count - 1].ended_s : 0;
    struct epoch *e = add_epoch(t);
    *e = (struct epoch){.ended_s = began_s + seconds,
                        .seconds = seconds,
                        .examples_per_second = sums[1] / seconds,
                        .loss = sums[1] > 0 ? sums[0] / sums[1] : 0,
                        .valid_mrr = -1,
                        .stats = counters_change(&before, &after)};
    report_epoch(t->task, number, e);
    return has_time;
}

static void train_all(struct training *t, struct pool_member *m)
{
    const struct options *o = &t->task->options;
    struct quality valid;
    struct feed feed;
    struct step step;
    feed_open(&feed, t->task, m);
    step_open(&step, t->task, m);
    bool has_time = true;
    for (uint64_t epoch = 1; epoch <= o->common.epochs && has_time; epoch++) {
        has_time = train_epoch(t, m, &feed, &step, epoch);
        if (!has_time || !settings_wants_evaluation(&o->common, epoch)) continue;
        evaluate_and_report(t, m, GRAPH_VALID, &valid);
        if (is_first(m)) t->epochs[epoch - 1].valid_mrr = valid.mrr;
    }
    step_close(&step);
    feed_close(&feed);
}

/* By the facts to train with: what is sampled is equally likely for all. */
static void keep_hot(const struct task *t, const struct pool_member *m)
{
    const struct facts *facts = &t->graph.splits[GRAPH_TRAIN];
    size_t keys = locus_keys(m->pool->node);
    uint64_t *count = take_memory(keys, sizeof *count);
    for (size_t i = 0; i < facts->count; i++) {
        count[task_entity_key(facts->list[i].subject)]++;
        count[task_entity_key(facts->list[i].object)]++;
        for (int side = 0; side < 2; side++)
            count[task_relation_key(t, model_relation_row(&t->model,
                                                          side ? MODEL_SUBJECTS : MODEL_OBJECTS,
                                                          facts->list[i].relation))]++;
    }
    settings_keep(&t->options.common, m, count, keys);
    free(count);
}

void train_work(struct pool_member *m, void *training)
{
    struct training *t = training;
    init_table(m, &t->task->options, 0);
    init_table(m, &t->task->options, 1);
    if (m->index == 0 && settings_keeps(&t->task->options.common)) keep_hot(t->task, m);
    pool_settle(m);
    if (m->index == 0) t->began_s = meter_now();
    pool_meet_here(m);
    train_all(t, m);
    evaluate_and_report(t, m, GRAPH_VALID, &t->valid);
    evaluate_and_report(t, m, GRAPH_TEST, &t->test);
    struct locus_stats stats = counters_take(m);
    if (is_first(m)) {
        if (t->epoch_count) t->epochs[t->epoch_count - 1].valid_mrr = t->valid.mrr;
        if (m->worker) report_stats(t, m->pool->size, &stats);
    }
    if (is_first(m) && t->task->options.common.out) save_model(t->task, m);
    if (is_first(m) && t->task->options.chart) picture_write(t, m->pool->size);
    if (is_first(m) && t->task->options.near && !t->task->options.common.json)
        save_show_neighbours(t->task, m);
}
