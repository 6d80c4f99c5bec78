#include "lda_train.h"

#include "gibbs.h"
#include "lda_picture.h"
#include "lda_report.h"
#include "lda_save.h"
#include "topic_rows.h"
#include "counters.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_first(const struct pool_member *m)
{
    return m->place == 0;
}

/* Returns whether it is time for a checkpoint: the same on all workers. */
static bool train_epoch(struct lda_training *t, struct gibbs *g, struct progress *p)
{
    struct pool_member *m = g->member;
    const struct lda *l = t->lda;
    double began = meter_now();
    sampler_begin(g->sampler, p->epochs++);
    double sums[] = {gibbs_sweep(g), (double)g->shelf->tokens,
                     checkpoints_is_due(&t->checkpoints, m, p)};
    struct lda_epoch e = {.seconds = meter_now() - began};
    pool_sum(m, sums, sizeof sums / sizeof *sums);
    e.error = sums[0] / m->total;
    e.tokens = sums[1];
    bool is_due = sums[2] > 0;
    if (!is_first(m)) return is_due;
    meter_set(&t->meter, p->epochs);
    lda_report_epoch(l, p->epochs, &e);
    return is_due;
}

static void write_checkpoint(struct lda_training *t, struct gibbs *g, const struct progress *p)
{
    topic_rows_write(g->shelf, g->member);
    checkpoints_write(&t->checkpoints, g->member, p);
}

/* The counts are checked whenever the topics are judged. */
static void judge(struct lda_training *t, struct gibbs *g)
{
    quality_check(t->lda, g->shelf, g->rows);
    struct quality q = quality_of(t->lda, g->sampler, g->rows);
    if (is_first(g->member)) lda_report_quality(t->lda, &q);
}

static void train_all(struct lda_training *t, struct gibbs *g, struct progress *p)
{
    const struct settings *s = &t->lda->options.common;
    if (is_first(g->member)) meter_begin(&t->meter, "training", "sweeps", s->epochs);
    while (p->epochs < s->epochs) {
        bool is_due = train_epoch(t, g, p);
        if (is_due) write_checkpoint(t, g, p);
        if (settings_wants_evaluation(s, p->epochs)) judge(t, g);
    }
    if (is_first(g->member)) meter_end(&t->meter);
    judge(t, g);
}

static void finish(struct lda_training *t, struct pool_member *m, struct word_rows *r)
{
    const struct lda_options *o = &t->lda->options;
    struct locus_stats stats = counters_take(m);
    if (!is_first(m)) return;
    if (m->worker) counters_show(&stats, "accesses", m->pool->size, o->common.json);
    if (o->top > 0) lda_show_topics(t->lda, r);
    if (o->picture) lda_picture_write(t->lda, r);
    if (o->common.out) lda_save(t->lda, m, r);
}

void lda_work(struct pool_member *m, void *training)
{
    struct lda_training *t = training;
    struct shelf shelf;
    struct sampler sampler;
    struct word_rows rows;
    struct gibbs gibbs;
    struct progress progress;
    bool goes_on = checkpoints_resume(&t->checkpoints, m, &progress);
    shelf_open(&shelf, t->lda, m->place, m->total, gibbs_blocks(t->lda, m));
    sampler_open(&sampler, &shelf, m->place);
    word_rows_open(&rows, t->lda, m);
    if (goes_on) topic_rows_read(&shelf, m);
    pool_quiesce(m);
    gibbs_open(&gibbs, t->lda, m, &shelf, &sampler, &rows, goes_on);
    checkpoints_begin(&t->checkpoints, m, &progress);
    pool_meet_here(m);
    train_all(t, &gibbs, &progress);
    finish(t, m, &rows);
    gibbs_close(&gibbs);
    word_rows_close(&rows);
    sampler_close(&sampler);
    shelf_close(&shelf);
}
