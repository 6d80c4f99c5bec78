#include "wv_train.h"

#include "fail.h"
#include "lines.h"
#include "pace.h"
#include "rows.h"
#include "counters.h"
#include "vectors.h"
#include "wv_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void wv_training_init(struct wv_training *t, const struct wv *w, const struct pool *pool)
{
    const struct settings *s = &w->options.common;
    *t = (struct wv_training){.wv = w};
    checkpoints_init(&t->checkpoints, &s->checkpoints, s->epochs, 1, s->json);
    judge_init(&t->judge, w);
    meter_init(&t->meter, pool->rank == 0);
}

void wv_training_fini(struct wv_training *t)
{
    judge_fini(&t->judge);
}

/* Uniform within 1 / dim of 0: twice as far as in the original program; of a short text vectors
 * then learn more (docs/wv.md). The same for a word whatever the cluster. */
static void draw_input(const void *wv, uint64_t row, float *values)
{
    const struct wv *w = wv;
    struct rng rng;
    rng_init(&rng, w->options.common.seed, UINT64_C(1) << 40 | row);
    for (uint64_t i = 0; i < w->options.dim; i++)
        values[i] = (float)((2 * rng_real(&rng) - 1) / (double)w->options.dim);
}

void wv_first_rows(struct pool_member *m, const struct wv *w)
{
    rows_init(m, WV_INPUTS, draw_input, w);
    /* Zeros, and written: a view of a row that never was goes on to show zeros when the row is
     * changed. */
    rows_init(m, WV_OUTPUTS, NULL, NULL);
}

static bool is_first(const struct pool_member *m)
{
    return m->place == 0;
}

static bool is_over(const struct wv_training *t)
{
    uint64_t limit = t->wv->options.common.seconds;
    return limit > 0 && meter_now() - t->began_s >= (double)limit;
}

static struct wv_epoch run_epoch(struct wv_training *t, struct pool_member *m,
                                 struct windows *windows, struct skipgram *step)
{
    struct wv_epoch e = {0};
    struct pace pace;
    pace_begin(&pace, m, t->wv->vocabulary.total / m->total, 0);
    for (bool is_last = false; !is_last && !is_over(t);) {
        const struct window_batch *b = windows_next(windows);
        is_last = b->is_last;
        e.words += (double)b->words;
        e.pairs += (double)b->pairs;
        e.loss += skipgram_train(step, b);
        world_computed(WORLD_TRAINED, b->pairs);
        pace_done(&pace, (uint64_t)e.words);
        if (is_first(m)) meter_set(&t->meter, (uint64_t)e.words * m->total);
    }
    pace_end(&pace);
    draft_flush(&step->draft);
    return e;
}

/* Sums over all workers: words, pairs, loss, and who has no more time. */
static void report_epoch(struct wv_training *t, const double *sums, uint64_t number, double seconds)
{
    bool has_time = sums[3] == 0;
    meter_end(&t->meter);
    if (!isfinite(sums[2]))
        fail("the loss is no number any more in epoch %llu: choose a smaller --lr",
             (unsigned long long)number);
    if (sums[0] == 0 && !has_time) return; /* it has not begun */
    if (has_time && sums[0] != (double)t->wv->vocabulary.total)
        lines_fail_changed(t->wv->options.common.data);
    if (sums[1] == 0 && has_time)
        fail(
            "no word has another one near: one word a line, or --subsample %g, leaves nothing to learn from",
            t->wv->options.subsample);
    const struct wv_epoch e = {
        .words = sums[0], .pairs = sums[1], .loss = sums[2], .seconds = seconds};
    wv_report_epoch(t->wv, number, &e);
}

/* Returns whether there is time for another one: the same on all workers. */
static bool train_epoch(struct wv_training *t, struct pool_member *m, struct windows *windows,
                        struct skipgram *step, struct progress *p)
{
    uint64_t number = p->epochs + 1;
    char task[32];
    snprintf(task, sizeof task, "epoch %llu", (unsigned long long)number);
    if (is_first(m)) meter_begin(&t->meter, task, "words", t->wv->vocabulary.total);
    double began = meter_now();
    struct wv_epoch e = run_epoch(t, m, windows, step);
    struct progress next = {.epochs = number};
    double sums[] = {e.words, e.pairs, e.loss, is_over(t),
                     checkpoints_is_due(&t->checkpoints, m, &next)};
    pool_sum(m, sums, sizeof sums / sizeof *sums);
    bool has_time = sums[3] == 0;
    *p = next;
    if (is_first(m)) report_epoch(t, sums, number, meter_now() - began);
    if (sums[4] > 0 && has_time) checkpoints_write(&t->checkpoints, m, p);
    return has_time;
}

static void judge_and_report(struct wv_training *t, struct pool_member *m)
{
    if (!judge_has_work(&t->judge)) return;
    struct verdict v = judge_all(&t->judge, m);
    if (is_first(m)) wv_report_verdict(&t->judge, &v);
    free(v.correct);
}

static void train_all(struct wv_training *t, struct pool_member *m, struct progress *p)
{
    const struct wv_options *o = &t->wv->options;
    struct windows *windows = take_memory(1, sizeof *windows);
    struct skipgram step;
    windows_open(windows, t->wv, m, p->epochs);
    skipgram_open(&step, t->wv, m);
    bool has_time = true;
    while (p->epochs < o->common.epochs && has_time) {
        has_time = train_epoch(t, m, windows, &step, p);
        if (has_time && settings_wants_evaluation(&o->common, p->epochs)) judge_and_report(t, m);
    }
    skipgram_close(&step);
    windows_close(windows);
    free(windows);
}

static void write_vectors(const struct wv_training *t, struct pool_member *m)
{
    const struct wv_options *o = &t->wv->options;
    if (o->common.out) vectors_write_tensors(t->wv, m, o->common.out);
    if (o->text) vectors_write_text(t->wv, m, o->text);
    if (o->binary) vectors_write_binary(t->wv, m, o->binary);
}

/* A word's two rows, by how often it occurs. */
static void keep_hot(const struct wv *w, const struct pool_member *m)
{
    size_t words = w->vocabulary.words.count;
    uint64_t *count = take_memory(2 * words, sizeof *count);
    for (uint32_t i = 0; i < words; i++)
        count[wv_input_key(i)] = count[wv_output_key(w, i)] = w->vocabulary.counts[i];
    settings_keep(&w->options.common, m, count, 2 * words);
    free(count);
}

void wv_work(struct pool_member *m, void *training)
{
    struct wv_training *t = training;
    struct progress progress;
    if (!checkpoints_resume(&t->checkpoints, m, &progress)) wv_first_rows(m, t->wv);
    if (m->index == 0 && settings_keeps(&t->wv->options.common)) keep_hot(t->wv, m);
    pool_quiesce(m);
    if (m->index == 0) t->began_s = meter_now() - progress.seconds;
    checkpoints_begin(&t->checkpoints, m, &progress);
    pool_meet_here(m);
    train_all(t, m, &progress);
    pool_quiesce(m);
    judge_and_report(t, m);
    struct locus_stats stats = counters_take(m);
    if (is_first(m) && m->worker)
        counters_show(&stats, "accesses", m->pool->size, t->wv->options.common.json);
    if (is_first(m)) write_vectors(t, m);
}
