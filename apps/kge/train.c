#include "train.h"

#include "fail.h"
#include "pace.h"
#include "picture.h"
#include "report.h"
#include "rows.h"
#include "save.h"
#include "counters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EPOCHS_AT_FIRST = 64 };

void training_init(struct training *t, const struct task *task, const struct pool *pool)
{
    const struct settings *s = &task->options.common;
    uint64_t workers = (uint64_t)pool->size * pool->workers,
             batches = task->graph.splits[GRAPH_TRAIN].count / workers;
    *t = (struct training){.task = task};
    checkpoints_init(&t->checkpoints, &s->checkpoints, s->epochs, batches / task->options.batch,
                     s->json);
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

/* The batches of this worker's part of an epoch, or as many as there is time for; sets how many
 * facts they had. Returns the sum of the losses. */
static double run_part(struct training *t, struct pool_member *m, struct feed *feed,
                       struct step *step, uint64_t *facts)
{
    double loss = 0;
    uint64_t done = 0, parts = feed->parts;
    struct pace pace;
    pace_begin(&pace, m, feed->count / parts, (m->pool->bound.clocks + parts - 1) / parts);
    for (bool is_last = feed->count == 0; !is_last && !is_over(t);) {
        const struct batch *b = feed_next(feed);
        is_last = b->is_last;
        done += b->facts;
        loss += step_train(step, b);
        world_computed(WORLD_TRAINED, b->facts);
        pace_done(&pace, done);
        if (is_first(m) && (done & 31) < b->facts)
            meter_set(&t->meter, t->facts_before + done * m->total);
    }
    pace_end(&pace);
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
    if (t->epoch_count == t->epoch_capacity) {
        t->epoch_capacity = t->epoch_capacity ? 2 * t->epoch_capacity : EPOCHS_AT_FIRST;
        t->epochs = realloc(t->epochs, t->epoch_capacity * sizeof *t->epochs);
        if (!t->epochs) fail("%zu epochs find no memory", t->epoch_capacity);
    }
    return &t->epochs[t->epoch_count++];
}

/* What progress.sums are of. */
enum { SUM_LOSS, SUM_FACTS, SUM_SECONDS };

/* Returns whether there is time for more, and whether it is time for a checkpoint: the same on all
 * workers. */
static bool train_part(struct training *t, struct pool_member *m, struct feed *feed,
                       struct step *step, struct progress *p, bool *is_due)
{
    uint64_t facts;
    if (is_first(m)) t->facts_before = (uint64_t)p->sums[SUM_FACTS];
    double began = meter_now(), loss = run_part(t, m, feed, step, &facts);
    struct progress next = *p;
    progress_next(&next, t->checkpoints.parts);
    double sums[] = {loss, (double)facts, is_over(t),
                     checkpoints_is_due(&t->checkpoints, m, &next)};
    pool_sum(m, sums, sizeof sums / sizeof *sums);
    next.sums[SUM_LOSS] = p->sums[SUM_LOSS] + sums[0];
    next.sums[SUM_FACTS] = p->sums[SUM_FACTS] + sums[1];
    next.sums[SUM_SECONDS] = p->sums[SUM_SECONDS] + (meter_now() - began);
    bool has_time = sums[2] == 0;
    *is_due = sums[3] > 0 && has_time;
    *p = next;
    return has_time;
}

static void report_epoch_of(struct training *t, const struct progress *p, uint64_t number,
                            const struct locus_stats *stats)
{
    double facts = p->sums[SUM_FACTS], seconds = p->sums[SUM_SECONDS];
    double before_s = t->epoch_count ? t->epochs[t->epoch_count - 1].ended_s : 0;
    if (!isfinite(p->sums[SUM_LOSS]))
        fail("the loss is no number any more in epoch %llu: choose a smaller --lr",
             (unsigned long long)number);
    struct epoch *e = add_epoch(t);
    *e = (struct epoch){.ended_s = before_s + seconds,
                        .seconds = seconds,
                        .examples_per_second = facts / seconds,
                        .loss = facts > 0 ? p->sums[SUM_LOSS] / facts : 0,
                        .valid_mrr = -1,
                        .stats = *stats};
    report_epoch(t->task, number, e);
}

/* The parts that are left of an epoch. Returns whether there is time for another one: the same on
 * all workers. */
static bool train_parts(struct training *t, struct pool_member *m, struct feed *feed,
                        struct step *step, struct progress *p, bool *is_due)
{
    bool has_time = true;
    do {
        has_time = train_part(t, m, feed, step, p, is_due);
        if (p->part == 0 || !*is_due) continue;
        if (is_first(m)) meter_end(&t->meter);
        checkpoints_write(&t->checkpoints, m, p);
    } while (has_time && p->part > 0);
    return has_time;
}

/* What is left of an epoch; likewise. */
static bool train_epoch(struct training *t, struct pool_member *m, struct feed *feed,
                        struct step *step, struct progress *p)
{
    uint64_t number = p->epochs + 1;
    bool is_due;
    char task[32];
    snprintf(task, sizeof task, "epoch %llu", (unsigned long long)number);
    struct locus_stats before = counters_take(m);
    if (is_first(m))
        meter_begin(&t->meter, task, "facts", t->task->graph.splits[GRAPH_TRAIN].count);
    bool has_time = train_parts(t, m, feed, step, p, &is_due);
    struct locus_stats after = counters_take(m), stats = counters_change(&before, &after);
    if (is_first(m)) meter_end(&t->meter);
    bool has_begun = p->sums[SUM_FACTS] > 0 || has_time;
    if (is_first(m) && has_begun) report_epoch_of(t, p, number, &stats);
    memset(p->sums, 0, sizeof p->sums);
    if (is_due) checkpoints_write(&t->checkpoints, m, p);
    return has_time;
}

static void train_all(struct training *t, struct pool_member *m, struct progress *p)
{
    const struct options *o = &t->task->options;
    struct quality valid;
    struct feed feed;
    struct step step;
    feed_open(&feed, t->task, m, p, t->checkpoints.parts);
    step_open(&step, t->task, m);
    bool has_time = true;
    while (p->epochs < o->common.epochs && has_time) {
        has_time = train_epoch(t, m, &feed, &step, p);
        if (!has_time || !settings_wants_evaluation(&o->common, p->epochs)) continue;
        evaluate_and_report(t, m, GRAPH_VALID, &valid);
        if (is_first(m)) t->epochs[t->epoch_count - 1].valid_mrr = valid.mrr;
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
    struct progress progress;
    if (!checkpoints_resume(&t->checkpoints, m, &progress)) {
        init_table(m, &t->task->options, 0);
        init_table(m, &t->task->options, 1);
    }
    if (m->index == 0 && settings_keeps(&t->task->options.common)) keep_hot(t->task, m);
    pool_quiesce(m);
    if (m->index == 0) t->began_s = meter_now() - progress.seconds;
    checkpoints_begin(&t->checkpoints, m, &progress);
    pool_meet_here(m);
    train_all(t, m, &progress);
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
