#include "ctr_quality.h"

#include "fail.h"
#include "meter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ranked {
    float logit, weight;
    bool is_click;
};

static int by_logit(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return (x->logit > y->logit) - (x->logit < y->logit);
}

/* Of pairs of a click and another, the share in which the click's logit is above. */
static double auc_of(struct ranked *list, size_t count)
{
    double above = 0, clicks = 0, others = 0;
    qsort(list, count, sizeof *list, by_logit);
    for (size_t i = 0; i < count;) {
        size_t end = i;
        double equal[2] = {0, 0};
        for (; end < count && !(list[end].logit > list[i].logit); end++)
            equal[list[end].is_click] += (double)list[end].weight;
        above += equal[true] * (others + equal[false] / 2);
        others += equal[false];
        clicks += equal[true];
        i = end;
    }
    return clicks * others > 0 ? above / (clicks * others) : NAN;
}

struct ctr_quality ctr_quality_of(const float *logits, const bool *is_click, const float *weights,
                                  size_t count)
{
    struct ctr_quality q = {0};
    struct ranked *list = take_memory(count, sizeof *list);
    double foretold = 0, came = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        double x = (double)logits[i], p = 1 / (1 + exp(-x)), w = weights ? (double)weights[i] : 1;
        if (isnan(x)) fail("a logit is no number any more: choose a smaller --lr");
        struct ctr_bin *bin = &q.bins[p < 1 ? (size_t)(p * CTR_BINS) : CTR_BINS - 1];
        list[i] = (struct ranked){logits[i], (float)w, is_click[i]};
        q.log_loss += w * ((x > 0 ? x : 0) + log1p(exp(-fabs(x))) - (is_click[i] ? x : 0));
        bin->examples += w;
        bin->foretold += w * p;
        bin->came += is_click[i] ? w : 0;
    }
    for (const struct ctr_bin *bin = q.bins; bin < q.bins + CTR_BINS; bin++) {
        q.calibration_error += fabs(bin->foretold - bin->came);
        foretold += bin->foretold;
        came += bin->came;
        all += bin->examples;
    }
    q.log_loss /= all;
    q.calibration_error /= all;
    q.calibration = came > 0 ? foretold / came : NAN;
    q.auc = auc_of(list, count);
    free(list);
    return q;
}

/* ---- of a model ---- */

/* Which examples, and what became of them. */
struct scores {
    const struct ctr *ctr;
    uint64_t first, count;
    float *logits;
};

static uint64_t rows_of(const struct scores *s)
{
    return (s->count + CTR_SCORES_OF_ROW - 1) / CTR_SCORES_OF_ROW;
}

/* Of a row: the last one may have fewer. */
static size_t examples_of(const struct scores *s, uint64_t row)
{
    uint64_t left = s->count - row * CTR_SCORES_OF_ROW;
    return left < CTR_SCORES_OF_ROW ? (size_t)left : CTR_SCORES_OF_ROW;
}

/* The worker's rows of logits, each by one worker alone. */
static void write_scores(const struct scores *s, struct pool_member *m, struct wide_deep *w)
{
    const struct pool_table *t = &m->pool->tables[CTR_SCORES];
    struct click_batch b;
    struct places places;
    uint64_t first, end;
    size_t entries = ctr_entries(s->ctr, CTR_SCORES_OF_ROW);
    click_batch_open(&b, CTR_SCORES_OF_ROW, entries);
    places_init(&places, entries);
    pool_share(rows_of(s), m->place, m->total, &first, &end);
    for (uint64_t row = first; row < end; row++) {
        float scores[CTR_SCORES_OF_ROW] = {0};
        locus_key key = t->first + row;
        click_batch_clear(&b, &places);
        for (size_t i = 0; i < examples_of(s, row); i++) {
            uint64_t number = s->first + row * CTR_SCORES_OF_ROW + i;
            struct click click = clicks_get(&s->ctr->clicks, number);
            click_batch_add(&b, &places, &click);
        }
        memcpy(scores, wide_deep_predict(w, &b), b.examples * sizeof *scores);
        if (m->worker)
            must(locus_set(m->worker, &key, 1, scores), "writing logits");
        else
            memcpy(t->values + row * t->length, scores, sizeof scores);
    }
    click_batch_close(&b);
    places_fini(&places);
}

static void take_row(void *scores, uint64_t row, const float *values)
{
    const struct scores *s = scores;
    memcpy(s->logits + row * CTR_SCORES_OF_ROW, values, examples_of(s, row) * sizeof *values);
}

static bool *labels_of(const struct scores *s, float *weights)
{
    bool *is_click = take_memory(s->count, sizeof *is_click);
    for (uint64_t i = 0; i < s->count; i++) {
        struct click click = clicks_get(&s->ctr->clicks, s->first + i);
        is_click[i] = click.is_click;
        weights[i] = click.weight;
    }
    return is_click;
}

struct ctr_quality ctr_quality_take(const struct ctr *c, struct pool_member *m, struct wide_deep *w,
                                    uint64_t first, uint64_t count)
{
    double began = meter_now();
    struct ctr_quality q = {0};
    struct scores s = {.ctr = c, .first = first, .count = count};
    pool_quiesce(m);
    write_scores(&s, m, w);
    pool_quiesce(m);
    if (m->place == 0) {
        s.logits = take_memory(count, sizeof *s.logits);
        float *weights = take_memory(count, sizeof *weights);
        bool *is_click = labels_of(&s, weights);
        rows_visit(m, CTR_SCORES, 0, rows_of(&s), take_row, &s);
        q = ctr_quality_of(s.logits, is_click, weights, count);
        q.seconds = meter_now() - began;
        free(weights);
        free(s.logits);
        free(is_click);
    }
    pool_meet(m);
    return q;
}
