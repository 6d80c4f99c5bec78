#include "quality.h"

#include "fail.h"
#include "meter.h"
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* lgamma() writes to a variable that all threads share. */
static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* ---- likelihood ---- */

struct words_sum {
    size_t topics;
    double beta, sum;
};

static void add_word(void *words_sum, uint64_t word, const float *row)
{
    struct words_sum *w = words_sum;
    double none = log_gamma(w->beta);
    (void)word;
    for (size_t k = 0; k < w->topics; k++)
        if (row[k] > 0) w->sum += log_gamma((double)row[k] + w->beta) - none;
}

/* This worker's share of the words. */
static double words_likelihood(const struct lda *l, const struct sampler *s,
                               const struct word_rows *r)
{
    struct words_sum w = {.topics = s->topics, .beta = s->beta};
    uint64_t first, end;
    pool_share(l->corpus.words, r->member->place, r->member->total, &first, &end);
    rows_visit(r->member, LDA_WORDS, first, end, add_word, &w);
    return w.sum;
}

static double totals_likelihood(const struct sampler *s)
{
    double none = log_gamma(s->words_beta), sum = 0;
    for (size_t k = 0; k < s->topics; k++) sum += none - log_gamma(s->totals[k] + s->words_beta);
    return sum;
}

static double documents_likelihood(const struct shelf *s, double alpha)
{
    double all = alpha * (double)s->lda->options.topics;
    double none = log_gamma(alpha), none_of_all = log_gamma(all), sum = 0;
    for (uint32_t d = 0; d < s->documents; d++) {
        const struct shelf_pair *p = s->pairs + s->pair_start[d];
        sum += none_of_all - log_gamma(s->length[d] + all);
        for (uint32_t i = 0; i < s->pair_count[d]; i++) sum += log_gamma(p[i].count + alpha) - none;
    }
    return sum;
}

/* ---- perplexity ---- */

struct held {
    struct sampler *sampler;
    double logarithms;
};

static void add_held(void *held, uint32_t word, float *row)
{
    struct held *h = held;
    h->logarithms += sampler_held_word(h->sampler, word, row);
}

static double held_logarithms(const struct lda *l, struct sampler *s, struct word_rows *r)
{
    struct held h = {.sampler = s};
    const uint64_t *start = s->shelf->held.start;
    uint32_t *words = take_memory((size_t)l->corpus.words + 1, sizeof *words), count = 0;
    for (uint32_t w = 0; w < l->corpus.words; w++)
        if (start[w + 1] > start[w]) words[count++] = w;
    word_rows_visit(r, words, count, add_held, &h);
    free(words);
    return h.logarithms;
}

struct quality quality_of(const struct lda *l, struct sampler *s, struct word_rows *r)
{
    double began = meter_now();
    float *totals = take_memory(s->topics, sizeof *totals);
    pool_quiesce(r->member);
    word_rows_read(r, LDA_TOPICS, totals);
    sampler_set_totals(s, totals);
    free(totals);
    double sums[] = {words_likelihood(l, s, r) + documents_likelihood(s->shelf, s->alpha),
                     (double)s->shelf->tokens, held_logarithms(l, s, r),
                     (double)s->shelf->held_tokens};
    if (r->member->place == 0) sums[0] += totals_likelihood(s);
    pool_sum(r->member, sums, sizeof sums / sizeof *sums);
    return (struct quality){.likelihood = sums[0] / sums[1],
                            .perplexity = sums[3] > 0 ? exp(-sums[2] / sums[3]) : 0,
                            .seconds = meter_now() - began};
}

/* ---- counts ---- */

struct counts {
    size_t topics;
    float *row;
};

static void count_word(void *counts, uint64_t word, const float *row)
{
    struct counts *c = counts;
    (void)word;
    for (size_t k = 0; k < c->topics; k++) c->row[k] += row[k];
}

static void compare(struct word_rows *r)
{
    float *rows[LDA_TOTAL_ROWS];
    for (int i = 0; i < LDA_TOTAL_ROWS; i++) {
        rows[i] = take_memory(r->topics, sizeof *rows[i]);
        word_rows_read(r, (enum lda_total)i, rows[i]);
    }
    for (size_t k = 0; k < r->topics; k++) {
        const double all = (double)rows[LDA_TOPICS][k], words = (double)rows[LDA_CHECK_WORDS][k],
                     tokens = (double)rows[LDA_CHECK_TOKENS][k];
        if (fabs(all - words) > 0 || fabs(all - tokens) > 0)
            fail("topic %zu has %.0f tokens, its words have %.0f of it, and its total is %.0f: "
                 "this is a fault of the program",
                 k, tokens, words, all);
    }
    for (int i = 0; i < LDA_TOTAL_ROWS; i++) free(rows[i]);
}

void quality_check(const struct lda *l, const struct shelf *s, struct word_rows *r)
{
    struct counts c = {.topics = r->topics, .row = take_memory(r->topics, sizeof(float))};
    uint64_t first, end;
    if (r->member->place == 0) word_rows_write(r, LDA_CHECK_WORDS, c.row);
    if (r->member->place == 0) word_rows_write(r, LDA_CHECK_TOKENS, c.row);
    pool_quiesce(r->member);
    pool_share(l->corpus.words, r->member->place, r->member->total, &first, &end);
    rows_visit(r->member, LDA_WORDS, first, end, count_word, &c);
    word_rows_add(r, LDA_CHECK_WORDS, c.row);
    memset(c.row, 0, r->topics * sizeof *c.row);
    for (uint64_t t = 0; t < s->tokens; t++) c.row[s->train.topic[t]]++;
    word_rows_add(r, LDA_CHECK_TOKENS, c.row);
    pool_quiesce(r->member);
    if (r->member->place == 0) compare(r);
    free(c.row);
    pool_meet(r->member);
}
