#include "gnn_train.h"

#include "best.h"
#include "convolution.h"
#include "counters.h"
#include "epochs.h"
#include "fail.h"
#include "gnn_report.h"
#include "gnn_save.h"
#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What a worker has. */
struct trainer {
    struct gnn_training *training;
    struct pool_member *member;
    struct epochs epochs;
    struct convolution convolution;
    struct accuracy_judge judge;
};

/* Uniform, with --init as the deviation. The same for a row whatever the cluster. Sums of squares
 * begin at 0. */
static void draw_row(const void *gnn, uint64_t row, float *values)
{
    const struct gnn *g = gnn;
    const struct gnn_options *o = &g->options;
    struct rng rng;
    rng_init(&rng, o->common.seed, UINT64_C(1) << 40 | row);
    for (size_t i = 0; i < gnn_width(g); i++)
        values[i] = (float)(o->init * sqrt(12) * (rng_real(&rng) - 0.5));
}

static bool is_first(const struct trainer *t)
{
    return t->member->place == 0;
}

static bool is_over(const struct gnn_training *t)
{
    uint64_t limit = t->gnn->options.common.seconds;
    return limit > 0 && meter_now() - t->began_s >= (double)limit;
}

static struct gnn_epoch run_epoch(struct trainer *t)
{
    struct gnn_epoch e = {0};
    for (bool is_last = false; !is_last && !is_over(t->training);) {
        const struct neighbourhood *h = epochs_next(&t->epochs);
        is_last = h->is_last;
        e.nodes += h->tops;
        e.loss += convolution_train(&t->convolution, h);
        world_computed(WORLD_TRAINED, h->tops);
        if (is_first(t)) meter_set(&t->training->meter, (uint64_t)e.nodes * t->member->total);
    }
    convolution_flush(&t->convolution);
    return e;
}

/* Returns whether there is time for another one, and whether it is time for a checkpoint: the same
 * on all workers. */
static bool train_epoch(struct trainer *t, struct progress *p, bool *is_due)
{
    const struct gnn *g = t->training->gnn;
    const struct checkpoints *c = &t->training->checkpoints;
    char task[32];
    convolution_begin(&t->convolution, p->epochs);
    uint64_t number = ++p->epochs;
    snprintf(task, sizeof task, "epoch %llu", (unsigned long long)number);
    if (is_first(t)) meter_begin(&t->training->meter, task, "nodes", g->labels.count[LABELS_TRAIN]);
    double began = meter_now();
    struct gnn_epoch e = run_epoch(t);
    double sums[] = {e.nodes, e.loss, is_over(t->training), checkpoints_is_due(c, t->member, p)};
    pool_sum(t->member, sums, sizeof sums / sizeof *sums);
    bool has_time = sums[2] == 0;
    *is_due = sums[3] > 0 && has_time;
    if (!is_first(t)) return has_time;
    meter_end(&t->training->meter);
    if (sums[0] == 0 && !has_time) return false; /* it has not begun */
    if (!isfinite(sums[1]))
        fail("the loss is no number any more in epoch %llu: choose a smaller --lr",
             (unsigned long long)number);
    e = (struct gnn_epoch){.nodes = sums[0], .loss = sums[1], .seconds = meter_now() - began};
    gnn_report_epoch(g, number, &e);
    return has_time;
}

static const struct best_rows best_rows[] = {{GNN_INPUTS, GNN_BEST_INPUTS},
                                             {GNN_DENSE, GNN_BEST_DENSE}};
enum { BEST_TABLES = sizeof best_rows / sizeof *best_rows };

static void judge(struct trainer *t, uint64_t epoch)
{
    struct gnn_training *training = t->training;
    const struct gnn *g = training->gnn;
    if (g->labels.count[LABELS_VALIDATE] + g->labels.count[LABELS_TEST] == 0) return;
    struct accuracy a = accuracy_take(&t->judge);
    if (is_first(t)) gnn_report_accuracy(g, &a);
    if (!gnn_chooses(g)) return;
    bool is_better = training->best_epoch == 0 || a.validation > training->best.validation;
    if (!best_offer(t->member, is_better, best_rows, BEST_TABLES) || !is_first(t)) return;
    training->best = a;
    training->best_epoch = epoch;
}

/* What is reported is what is saved. */
static void take_best_model(struct trainer *t)
{
    const struct gnn_training *training = t->training;
    if (!gnn_chooses(training->gnn)) return;
    best_take(t->member, best_rows, BEST_TABLES);
    if (is_first(t)) gnn_report_best(training->gnn, training->best_epoch, &training->best);
}

/* The best judgement so far is the first worker's, and goes on from a checkpoint with it. */
enum { BEST_EPOCH, BEST_VALIDATION, BEST_TEST, BEST_SECONDS };

static void put_best(const struct gnn_training *t, struct progress *p)
{
    p->figures[BEST_EPOCH] = (double)t->best_epoch;
    p->figures[BEST_VALIDATION] = t->best.validation;
    p->figures[BEST_TEST] = t->best.test;
    p->figures[BEST_SECONDS] = t->best.seconds;
}

static void take_best(struct gnn_training *t, const struct progress *p)
{
    t->best_epoch = (uint64_t)p->figures[BEST_EPOCH];
    t->best = (struct accuracy){.validation = p->figures[BEST_VALIDATION],
                                .test = p->figures[BEST_TEST],
                                .seconds = p->figures[BEST_SECONDS]};
}

static void train_all(struct trainer *t, struct progress *p)
{
    const struct gnn_options *o = &t->training->gnn->options;
    struct gnn_training *training = t->training;
    bool has_time = true, is_due;
    while (p->epochs < o->common.epochs && has_time) {
        has_time = train_epoch(t, p, &is_due);
        if (has_time && settings_wants_evaluation(&o->common, p->epochs)) judge(t, p->epochs);
        if (is_first(t)) put_best(training, p);
        if (is_due) checkpoints_write(&training->checkpoints, t->member, p);
    }
    pool_quiesce(t->member);
    judge(t, p->epochs);
    take_best_model(t);
}

/* How often a row is accessed: a node's by those that have it as a neighbour, about. */
static void keep_hot(const struct gnn *g, const struct pool_member *m)
{
    size_t rows = gnn_inputs(g);
    uint64_t *count = take_memory(rows, sizeof *count);
    for (uint32_t v = 0; v < g->network.nodes; v++) {
        uint64_t uses = 1 + network_degree(&g->network, v);
        if (!gnn_has_features(g)) {
            count[v] = uses;
            continue;
        }
        for (uint64_t i = g->features.start[v]; i < g->features.start[v + 1]; i++)
            count[g->features.index[i]] += uses;
    }
    settings_keep(&g->options.common, m, count, rows);
    free(count);
}

static void begin(struct trainer *t, struct progress *p)
{
    const struct gnn *g = t->training->gnn;
    struct pool_member *m = t->member;
    if (!checkpoints_resume(&t->training->checkpoints, m, p)) {
        rows_init(m, GNN_INPUTS, draw_row, g);
        dense_rows_init(&g->plan, m, GNN_DENSE, g->options.common.seed);
    }
    if (m->index == 0 && settings_keeps(&g->options.common)) keep_hot(g, m);
    if (m->index == 0) dense_rows_keep(&g->plan, m, GNN_DENSE);
    pool_quiesce(m);
    accuracy_open(&t->judge, g, m);
    convolution_open(&t->convolution, g, m, g->options.batch, g->options.neighbours);
    epochs_open(&t->epochs, g, m, p->epochs);
    /* Getting ready is not part of the first epoch. */
    pool_quiesce(m);
    if (is_first(t)) take_best(t->training, p);
    if (m->index == 0) t->training->began_s = meter_now() - p->seconds;
    checkpoints_begin(&t->training->checkpoints, m, p);
    pool_meet_here(m);
}

void gnn_work(struct pool_member *m, void *training)
{
    struct trainer *t = take_memory(1, sizeof *t);
    *t = (struct trainer){.training = training, .member = m};
    const struct gnn *g = t->training->gnn;
    struct progress progress;
    begin(t, &progress);
    train_all(t, &progress);
    struct locus_stats stats = counters_take(m);
    if (is_first(t) && m->worker)
        counters_show(&stats, "accesses", m->pool->size, g->options.common.json);
    if (is_first(t) && g->options.common.out) gnn_save(g, m);
    epochs_close(&t->epochs);
    convolution_close(&t->convolution);
    accuracy_close(&t->judge);
    free(t);
}
