#include "new_documents.h"

#include "fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool new_documents_gives(uint64_t token, uint64_t seed)
{
    return corpus_is_held(token, 0.5, ~seed);
}

/* ---- a document ---- */

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Returns how far theta has gone. */
static double step(const double *const *phi, size_t given, size_t topics, double alpha,
                   double *theta, double *next)
{
    double moved = 0, all = (double)given + (double)topics * alpha;
    for (size_t k = 0; k < topics; k++) next[k] = alpha;
    for (size_t i = 0; i < given; i++) {
        double weight = 1 / dot(theta, phi[i], topics);
        for (size_t k = 0; k < topics; k++) next[k] += theta[k] * phi[i][k] * weight;
    }
    for (size_t k = 0; k < topics; k++) {
        moved += fabs(next[k] / all - theta[k]);
        theta[k] = next[k] / all;
    }
    return moved;
}

double new_documents_one(const double *const *phi, size_t given, size_t tokens, size_t topics,
                         double alpha, double *theta, double *next)
{
    double logarithms = 0;
    for (size_t k = 0; k < topics; k++) theta[k] = 1 / (double)topics;
    for (int i = 0; i < NEW_DOCUMENTS_STEPS; i++)
        if (step(phi, given, topics, alpha, theta, next) < 1e-6) break;
    for (size_t i = given; i < tokens; i++) logarithms += log(dot(theta, phi[i], topics));
    return logarithms;
}

/* ---- all of a worker ---- */

/* Room for the longest document: its different words, with their rows; and its tokens, those that
 * are given first. */
struct reading {
    const struct sampler *sampler;
    uint32_t *words;
    double *rows;
    const double **phi;
    double *theta, *next;
    size_t row; /* that is read next */
};

static void open_reading(struct reading *r, const struct sampler *s, const struct corpus *c,
                         uint32_t words)
{
    uint64_t longest = 1;
    for (uint32_t d = 0; d < c->documents; d++)
        if (c->start[d + 1] - c->start[d] > longest) longest = c->start[d + 1] - c->start[d];
    uint64_t different = longest < words ? longest : words;
    *r = (struct reading){.sampler = s};
    r->words = take_memory(longest, sizeof *r->words);
    r->rows = take_memory(different * s->topics, sizeof *r->rows);
    r->phi = take_memory(longest, sizeof *r->phi);
    r->theta = take_memory(s->topics, sizeof *r->theta);
    r->next = take_memory(s->topics, sizeof *r->next);
}

static void close_reading(struct reading *r)
{
    free(r->words);
    free(r->rows);
    free(r->phi);
    free(r->theta);
    free(r->next);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static size_t list_words(struct reading *r, const uint32_t *tokens, size_t n)
{
    size_t different = 0;
    memcpy(r->words, tokens, n * sizeof *tokens);
    qsort(r->words, n, sizeof *r->words, by_number);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || r->words[i] != r->words[i - 1]) r->words[different++] = r->words[i];
    return different;
}

static void read_row(void *reading, uint32_t word, float *row)
{
    struct reading *r = reading;
    const struct sampler *s = r->sampler;
    double *phi = r->rows + r->row++ * s->topics;
    (void)word;
    for (size_t k = 0; k < s->topics; k++) phi[k] = ((double)row[k] + s->beta) * s->inverse[k];
}

static const double *phi_of(const struct reading *r, uint32_t word, size_t different)
{
    const uint32_t *at = bsearch(&word, r->words, different, sizeof word, by_number);
    return r->rows + (size_t)(at - r->words) * r->sampler->topics;
}

void new_documents_foretell(const struct lda *l, const struct sampler *s, struct word_rows *rows,
                            double *logarithms, double *tokens)
{
    const struct corpus *c = &l->test;
    struct reading r;
    uint64_t first, end;
    *logarithms = *tokens = 0;
    if (c->documents == 0) return;
    open_reading(&r, s, c, l->corpus.words);
    pool_share(c->documents, rows->member->place, rows->member->total, &first, &end);
    for (uint64_t d = first; d < end; d++) {
        const uint32_t *list = c->token + c->start[d];
        size_t n = c->start[d + 1] - c->start[d], different = list_words(&r, list, n);
        size_t given = 0, foretold = n;
        if (n == 0) continue;
        r.row = 0;
        word_rows_visit(rows, r.words, different, read_row, &r);
        for (size_t i = 0; i < n; i++) {
            bool gives = new_documents_gives(c->start[d] + i, l->options.common.seed);
            r.phi[gives ? given++ : --foretold] = phi_of(&r, list[i], different);
        }
        *logarithms += new_documents_one(r.phi, given, n, s->topics, s->alpha, r.theta, r.next);
        *tokens += (double)(n - given);
    }
    close_reading(&r);
}
