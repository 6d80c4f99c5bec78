#include "sampler.h"

#include "fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void sampler_open(struct sampler *s, struct shelf *shelf, unsigned stream)
{
    const struct lda_options *o = &shelf->lda->options;
    *s = (struct sampler){.shelf = shelf,
                          .topics = o->topics,
                          .stream = stream,
                          .alpha = o->alpha,
                          .beta = o->beta,
                          .words_beta = o->beta * shelf->lda->corpus.words};
    sampler_begin(s, 0);
    s->totals = take_memory(s->topics, sizeof *s->totals);
    s->inverse = take_memory(s->topics, sizeof *s->inverse);
    s->tree = take_memory(2 * s->topics, sizeof *s->tree);
    s->sums = take_memory(s->topics, sizeof *s->sums);
}

void sampler_begin(struct sampler *s, uint64_t sweeps)
{
    rng_init(&s->rng, s->shelf->lda->options.common.seed,
             UINT64_C(2) << 40 | sweeps << 20 | s->stream);
}

void sampler_close(struct sampler *s)
{
    free(s->totals);
    free(s->inverse);
    free(s->tree);
    free(s->sums);
    *s = (struct sampler){0};
}

void sampler_set_totals(struct sampler *s, const float *totals)
{
    for (size_t k = 0; k < s->topics; k++) {
        s->totals[k] = (double)totals[k];
        s->inverse[k] = 1 / (s->totals[k] + s->words_beta);
    }
}

/* ---- the tree ---- */

static void set_leaves(struct sampler *s, const float *row)
{
    for (size_t k = 0; k < s->topics; k++)
        s->tree[s->topics + k] = ((double)row[k] + s->beta) * s->inverse[k];
}

static void build_tree(struct sampler *s)
{
    for (size_t i = s->topics - 1; i > 0; i--) s->tree[i] = s->tree[2 * i] + s->tree[2 * i + 1];
}

static uint32_t draw_from_tree(const struct sampler *s, double rest)
{
    size_t i = 1;
    while (i < s->topics) {
        i *= 2;
        if (rest < s->tree[i]) continue;
        rest -= s->tree[i];
        i++;
    }
    return (uint32_t)(i - s->topics);
}

/* The word has one more, or one less, of the topic. */
static inline void count(struct sampler *s, float *row, uint32_t k, float by)
{
    row[k] += by;
    s->totals[k] += (double)by;
    s->inverse[k] = 1 / (s->totals[k] + s->words_beta);
    s->tree[s->topics + k] = ((double)row[k] + s->beta) * s->inverse[k];
}

/* Sums above both leaves. */
static inline void mend_tree(struct sampler *s, uint32_t k)
{
    double *tree = s->tree;
    for (size_t i = (s->topics + k) / 2; i > 0; i /= 2) tree[i] = tree[2 * i] + tree[2 * i + 1];
}

/* ---- draws ---- */

static uint32_t draw_topic(struct sampler *s, uint32_t document)
{
    const struct shelf *shelf = s->shelf;
    const struct shelf_pair *pairs = shelf->pairs + shelf->pair_start[document];
    uint32_t n = shelf->pair_count[document];
    const double *q = s->tree + s->topics;
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) s->sums[i] = sum += pairs[i].count * q[pairs[i].topic];
    double rest = rng_real(&s->rng) * (sum + s->alpha * s->tree[1]);
    if (rest >= sum) return draw_from_tree(s, (rest - sum) / s->alpha);
    uint32_t i = 0;
    while (s->sums[i] <= rest) i++;
    return pairs[i].topic;
}

static void draw_token(struct sampler *s, uint64_t token, float *row)
{
    struct shelf_tokens *t = &s->shelf->train;
    uint32_t document = t->document[token], old = t->topic[token];
    shelf_take(s->shelf, document, old);
    count(s, row, old, -1);
    mend_tree(s, old);
    uint32_t now = draw_topic(s, document);
    t->topic[token] = now;
    shelf_add(s->shelf, document, now);
    count(s, row, now, 1);
    mend_tree(s, now);
}

void sampler_draw_word(struct sampler *s, uint32_t word, float *row)
{
    const struct shelf_tokens *t = &s->shelf->train;
    set_leaves(s, row);
    build_tree(s);
    for (uint64_t i = t->start[word]; i < t->start[word + 1]; i++) draw_token(s, i, row);
}

double sampler_held_word(struct sampler *s, uint32_t word, const float *row)
{
    const struct shelf *shelf = s->shelf;
    const struct shelf_tokens *t = &shelf->held;
    const double *q = s->tree + s->topics;
    double logarithms = 0;
    set_leaves(s, row);
    build_tree(s);
    for (uint64_t i = t->start[word]; i < t->start[word + 1]; i++) {
        uint32_t d = t->document[i];
        const struct shelf_pair *pairs = shelf->pairs + shelf->pair_start[d];
        double sum = s->alpha * s->tree[1];
        for (uint32_t j = 0; j < shelf->pair_count[d]; j++)
            sum += pairs[j].count * q[pairs[j].topic];
        logarithms += log(sum / (shelf->length[d] + (double)s->topics * s->alpha));
    }
    return logarithms;
}
