#include "train.h"

#include "fail.h"
#include "picture.h"
#include "report.h"
#include "save.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SET_FLOATS = 1 << 16 }; /* of rows written in one call, about */

void training_init(struct training *t, const struct task *task, const struct crew *crew)
{
    *t = (struct training){.task = task};
    evaluation_init(&t->evaluation, task);
    meter_init(&t->meter, crew->rank == 0);
    t->epochs = take_memory(task->options.common.epochs, sizeof *t->epochs);
}

void training_fini(struct training *t)
{
    evaluation_fini(&t->evaluation);
    free(t->epochs);
}

/* ---- the first values ---- */

/* Uniform with the wanted standard deviation; the same for a key whatever the cluster. Sums of squares begin at 0. */
static void draw_row(float *row, size_t n, double deviation, uint64_t seed, locus_key key)
{
    struct rng rng;
    rng_init(&rng, seed, UINT64_C(1) << 40 | key);
    for (size_t i = 0; i < n; i++) row[i] = (float)(deviation * sqrt(12) * (rng_real(&rng) - 0.5));
    for (size_t i = 0; i < n; i++) row[n + i] = 0;
}

static void set_rows(struct crew_member *m, const struct crew_table *t, uint64_t at, size_t count, locus_key *keys,
                     float *rows)
{
    for (size_t i = 0; i < count; i++) keys[i] = t->first + at + i;
    if (m->worker) must(locus_set(m->worker, keys, count, rows), "set");
}

/* Each worker writes its part of a table. */
static void init_table(struct crew_member *m, const struct options *o, size_t table)
{
    const struct crew_table *t = &m->crew->tables[table];
    size_t block = SET_FLOATS / t->length ? SET_FLOATS / t->length : 1;
    locus_key *keys = take_memory(block, sizeof *keys);
    float *rows = take_memory(block * t->length, sizeof *rows);
    uint64_t first, end;
    crew_share(t->rows, m->place, m->total, &first, &end);
    for (uint64_t at = first; at < end; at += block) {
        size_t count = end - at < block ? (size_t)(end - at) : block;
        float *to = m->worker ? rows : t->values + at * t->length;
        for (size_t i = 0; i < count; i++)
            draw_row(to + i * t->length, t->length / 2, o->init, o->common.seed, t->first + at + i);
        set_rows(m, t, at, count, keys, rows);
    }
    free(keys);
    free(rows);
}

/* ---- statistics ---- */

static void read_stats(const struct crew_member *m, struct locus_stats *s)
{
    *s = (struct locus_stats){0};
    if (m->worker && m->index == 0) must(locus_stats_read(m->crew->node, s), "reading statistics");
}

struct locus_stats train_stats(struct crew_member *m)
{
    struct locus_stats s;
    read_stats(m, &s);
#define X(name) (double)s.name,
    double figures[] = {REPORT_STATS(X) s.replica_staleness_mean_s * (double)s.pulled_replica};
#undef X
    crew_sum(m, figures, sizeof figures / sizeof *figures);
    size_t i = 0;
#define X(name) s.name = (uint64_t)figures[i++];
    REPORT_STATS(X)
#undef X
    s.replica_staleness_mean_s = s.pulled_replica ? figures[i] / (double)s.pulled_replica : 0;
    return s;
}

/* What happened between two readings. */
static struct locus_stats change(const struct locus_stats *before, const struct locus_stats *after)
{
    struct locus_stats s = *after;
#define X(name) s.name = after->name - before->name;
    REPORT_STATS(X)
#undef X
    return s;
}

/* ---- epochs ---- */

static bool is_first(const struct crew_member *m)
{
    return m->place == 0;
}

static bool is_over(const struct training *t)
{
    uint64_t limit = t->task->options.seconds;
    return limit > 0 && meter_now() - t->began_s >= (double)limit;
}

/* The batches of this worker's epoch, or as many as there is time for; sets how many facts they had. Returns the sum of
 * the losses. */
static double run_epoch(struct training *t, struct crew_member *m, struct feed *feed, struct step *step,
                        uint64_t *facts)
{
    double loss = 0;
    uint64_t done = 0;
    for (bool is_last = feed->count == 0; !is_last && !is_over(t);) {
        const struct batch *b = feed_next(feed);
        is_last = b->is_last;
        done += b->facts;
        loss += step_train(step, b);
        if (is_first(m) && (done & 31) < b->facts) meter_set(&t->meter, done * m->total);
    }
    params_flush(&step->params);
    *facts = done;
    return loss;
}

static void evaluate_and_report(struct training *t, struct crew_member *m, enum graph_split split, struct quality *q)
{
    struct quality quality = evaluate(&t->evaluation, m, split);
    if (is_first(m)) {
        report_quality(t->task, split, &quality);
        *q = quality;
    }
}

/* Returns whether there is time for another one: the same on all workers. */
static bool train_epoch(struct training *t, struct crew_member *m, struct feed *feed, struct step *step,
                        uint64_t number)
{
    uint64_t facts;
    char task[32];
    snprintf(task, sizeof task, "epoch %llu", (unsigned long long)number);
    struct locus_stats before = train_stats(m);
    if (is_first(m)) meter_begin(&t->meter, task, "facts", t->task->graph.splits[GRAPH_TRAIN].count);
    double began = meter_now();
    double loss = run_epoch(t, m, feed, step, &facts);
    double sums[] = {loss, (double)facts, is_over(t)};
    crew_sum(m, sums, sizeof sums / sizeof *sums);
    double seconds = meter_now() - began;
    bool has_time = sums[2] == 0;
    struct locus_stats after = train_stats(m);
    if (!is_first(m)) return has_time;
    meter_end(&t->meter);
    if (!isfinite(sums[0]))
        fail("the loss is no number any more in epoch %llu: choose a smaller --lr", (unsigned long long)number);
    double began_s = t->epoch_count ? t->epochs[t->epoch_count - 1].ended_s : 0;
    struct epoch *e = &t->epochs[t->epoch_count++];
    *e = (struct epoch){.ended_s = began_s + seconds,
                        .seconds = seconds,
                        .examples_per_second = sums[1] / seconds,
                        .loss = sums[1] > 0 ? sums[0] / sums[1] : 0,
                        .valid_mrr = -1,
                        .stats = change(&before, &after)};
    report_epoch(t->task, number, e);
    return has_time;
}

static void train_all(struct training *t, struct crew_member *m)
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
        if (o->eval_every == 0 || epoch % o->eval_every != 0 || epoch == o->common.epochs || !has_time) continue;
        evaluate_and_report(t, m, GRAPH_VALID, &valid);
        if (is_first(m)) t->epochs[epoch - 1].valid_mrr = valid.mrr;
    }
    step_close(&step);
    feed_close(&feed);
}

void train_work(struct crew_member *m, void *training)
{
    struct training *t = training;
    init_table(m, &t->task->options, 0);
    init_table(m, &t->task->options, 1);
    crew_settle(m);
    if (m->index == 0) t->began_s = meter_now();
    crew_meet_here(m);
    train_all(t, m);
    evaluate_and_report(t, m, GRAPH_VALID, &t->valid);
    evaluate_and_report(t, m, GRAPH_TEST, &t->test);
    struct locus_stats stats = train_stats(m);
    if (is_first(m)) {
        if (t->epoch_count) t->epochs[t->epoch_count - 1].valid_mrr = t->valid.mrr;
        if (m->worker) report_stats(t, m->crew->size, &stats);
    }
    if (is_first(m) && t->task->options.common.out) save_model(t->task, m);
    if (is_first(m) && t->task->options.chart) picture_write(t, m->crew->size);
    if (is_first(m) && t->task->options.near && !t->task->options.common.json) save_show_neighbours(t->task, m);
}
