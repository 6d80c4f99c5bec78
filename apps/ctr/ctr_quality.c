#include "ctr_quality.h"

#include "fail.h"
#include "meter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 10 };

struct ranked {
    float logit;
    bool is_click;
};

static int by_logit(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return (x->logit > y->logit) - (x->logit < y->logit);
}

/* Mann and Whitney's statistic, from the ranks of clicks; equal logits share their mean rank. */
static double auc_of(struct ranked *list, size_t count)
{
    double ranks = 0, clicks = 0;
    qsort(list, count, sizeof *list, by_logit);
    for (size_t i = 0; i < count;) {
        size_t end = i, equal = 0;
        for (; end < count && !(list[end].logit > list[i].logit); end++)
            equal += list[end].is_click;
        ranks += (double)equal * ((double)(i + end) + 1) / 2;
        clicks += (double)equal;
        i = end;
    }
    return (ranks - clicks * (clicks + 1) / 2) / (clicks * ((double)count - clicks));
}

struct ctr_quality ctr_quality_of(const float *logits, const bool *is_click, size_t count)
{
    struct ctr_quality q = {0};
    struct ranked *list = take_memory(count, sizeof *list);
    double foretold[BINS] = {0}, came[BINS] = {0}, all_foretold = 0, all_came = 0;
    for (size_t i = 0; i < count; i++) {
        double x = (double)logits[i], p = 1 / (1 + exp(-x));
        if (isnan(x)) fail("a logit is no number any more: choose a smaller --lr");
        size_t bin = p < 1 ? (size_t)(p * BINS) : BINS - 1;
        list[i] = (struct ranked){.logit = logits[i], .is_click = is_click[i]};
        q.log_loss += (x > 0 ? x : 0) + log1p(exp(-fabs(x))) - (is_click[i] ? x : 0);
        foretold[bin] += p;
        came[bin] += is_click[i];
    }
    q.log_loss /= (double)count;
    for (size_t i = 0; i < BINS; i++) {
        q.calibration_error += fabs(foretold[i] - came[i]) / (double)count;
        all_foretold += foretold[i];
        all_came += came[i];
    }
    q.calibration = all_foretold / all_came;
    q.auc = auc_of(list, count);
    free(list);
    return q;
}

/* ---- of a model ---- */

/* The worker's rows of logits, each by one worker alone. */
static void write_scores(const struct ctr *c, struct pool_member *m, struct wide_deep *w)
{
    const struct pool_table *t = &m->pool->tables[CTR_SCORES];
    struct planted_click *planted_click = take_memory(1, sizeof *planted_click);
    struct click_batch b;
    struct places places;
    uint64_t first, end;
    click_batch_open(&b, CTR_SCORES_OF_ROW, c->entries_max);
    places_init(&places, (size_t)CTR_SCORES_OF_ROW * c->entries_max);
    pool_share(ctr_score_rows(c), m->place, m->total, &first, &end);
    for (uint64_t row = first; row < end; row++) {
        float scores[CTR_SCORES_OF_ROW] = {0};
        locus_key key = t->first + row;
        click_batch_clear(&b, &places);
        for (uint64_t i = row * CTR_SCORES_OF_ROW; i < (row + 1) * CTR_SCORES_OF_ROW && i < c->test;
             i++) {
            struct click click = ctr_get(c, c->train + i, planted_click);
            click_batch_add(&b, &places, &click);
        }
        if (b.examples == 0) continue;
        memcpy(scores, wide_deep_predict(w, &b), b.examples * sizeof *scores);
        if (m->worker)
            must(locus_set(m->worker, &key, 1, scores), "writing logits");
        else
            memcpy(t->values + row * t->length, scores, sizeof scores);
    }
    click_batch_close(&b);
    places_fini(&places);
    free(planted_click);
}

struct scores {
    const struct ctr *ctr;
    float *logits;
};

static void take_row(void *scores, uint64_t row, const float *values)
{
    const struct scores *s = scores;
    uint64_t at = row * CTR_SCORES_OF_ROW, left = s->ctr->test - at;
    size_t count = left < CTR_SCORES_OF_ROW ? (size_t)left : CTR_SCORES_OF_ROW;
    memcpy(s->logits + at, values, count * sizeof *values);
}

/* Labels; and, if there is room for them, the planted model's logits. */
static bool *labels_of(const struct ctr *c, float *planted)
{
    struct planted_click *planted_click = take_memory(1, sizeof *planted_click);
    bool *is_click = take_memory(c->test, sizeof *is_click);
    for (uint64_t i = 0; i < c->test; i++) {
        is_click[i] = ctr_get(c, c->train + i, planted_click).is_click;
        if (planted) planted[i] = (float)planted_click->logit;
    }
    free(planted_click);
    return is_click;
}

struct ctr_quality ctr_quality_test(const struct ctr *c, struct pool_member *m, struct wide_deep *w)
{
    double began = meter_now();
    struct ctr_quality q = {0};
    pool_quiesce(m);
    write_scores(c, m, w);
    pool_quiesce(m);
    if (m->place == 0) {
        struct scores s = {.ctr = c, .logits = take_memory(c->test, sizeof(float))};
        bool *is_click = labels_of(c, NULL);
        rows_visit(m, CTR_SCORES, 0, ctr_score_rows(c), take_row, &s);
        q = ctr_quality_of(s.logits, is_click, c->test);
        q.seconds = meter_now() - began;
        free(s.logits);
        free(is_click);
    }
    pool_meet(m);
    return q;
}

struct ctr_quality ctr_quality_planted(const struct ctr *c)
{
    float *logits = take_memory(c->test, sizeof *logits);
    bool *is_click = labels_of(c, logits);
    struct ctr_quality q = ctr_quality_of(logits, is_click, c->test);
    free(logits);
    free(is_click);
    return q;
}
