#include "word_rows.h"

#include "fail.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH_FLOATS = 1 << 14, BATCH_MAX = 256 };

void word_rows_open(struct word_rows *r, const struct lda *l, struct pool_member *m)
{
    *r = (struct word_rows){.lda = l, .member = m, .topics = l->options.topics};
    r->batch = BATCH_FLOATS / r->topics;
    if (r->batch > BATCH_MAX) r->batch = BATCH_MAX;
    if (r->batch < 1) r->batch = 1;
    r->keys = take_memory(r->batch, sizeof *r->keys);
    r->before = take_memory(r->batch * r->topics, sizeof *r->before);
    r->now = take_memory(r->batch * r->topics, sizeof *r->now);
}

void word_rows_close(struct word_rows *r)
{
    free(r->keys);
    free(r->before);
    free(r->now);
    *r = (struct word_rows){0};
}

static float *plain_row(const struct word_rows *r, enum lda_table table, uint64_t row)
{
    return r->member->pool->tables[table].values + row * r->topics;
}

static void check_count(float count)
{
    if (count < 0 || count >= LDA_COUNT_MAX)
        fail("a word or topic has %.0f tokens: counts are exact from 0 to %d only; use more "
             "topics, or leave out words that are everywhere",
             (double)count, LDA_COUNT_MAX);
}

/* ---- words ---- */

/* Only rows that have changed are sent. */
static void push_changes(struct word_rows *r, size_t n)
{
    size_t changed = 0, bytes = r->topics * sizeof *r->now;
    for (size_t i = 0; i < n; i++) {
        const float *now = r->now + i * r->topics, *before = r->before + i * r->topics;
        if (memcmp(now, before, bytes) == 0) continue;
        float *to = r->now + changed * r->topics;
        r->keys[changed++] = r->keys[i];
        for (size_t k = 0; k < r->topics; k++) to[k] = now[k] - before[k];
    }
    must(locus_push(r->member->worker, r->keys, changed, r->now), "push");
}

static void visit_batch(struct word_rows *r, const uint32_t *words, size_t n, word_rows_use *use,
                        void *context)
{
    for (size_t i = 0; i < n; i++) r->keys[i] = words[i];
    must(locus_pull(r->member->worker, r->keys, n, r->before), "pull");
    memcpy(r->now, r->before, n * r->topics * sizeof *r->now);
    for (size_t i = 0; i < n; i++) use(context, words[i], r->now + i * r->topics);
    push_changes(r, n);
}

void word_rows_visit(struct word_rows *r, const uint32_t *words, size_t count, word_rows_use *use,
                     void *context)
{
    if (!r->member->worker) {
        for (size_t i = 0; i < count; i++)
            use(context, words[i], plain_row(r, LDA_WORDS, words[i]));
        return;
    }
    for (size_t at = 0; at < count; at += r->batch)
        visit_batch(r, words + at, count - at < r->batch ? count - at : r->batch, use, context);
}

/* ---- totals ---- */

void word_rows_read(struct word_rows *r, enum lda_total row, float *values)
{
    locus_key key = lda_total_key(r->lda, row);
    if (r->member->worker) {
        must(locus_pull(r->member->worker, &key, 1, values), "pull");
    } else {
        memcpy(values, plain_row(r, LDA_TOTALS, row), r->topics * sizeof *values);
    }
    for (size_t k = 0; k < r->topics; k++) check_count(values[k]);
}

void word_rows_write(struct word_rows *r, enum lda_total row, const float *values)
{
    locus_key key = lda_total_key(r->lda, row);
    if (r->member->worker) {
        must(locus_set(r->member->worker, &key, 1, values), "set");
    } else {
        memcpy(plain_row(r, LDA_TOTALS, row), values, r->topics * sizeof *values);
    }
}

void word_rows_add(struct word_rows *r, enum lda_total row, const float *values)
{
    locus_key key = lda_total_key(r->lda, row);
    if (r->member->worker) {
        must(locus_push(r->member->worker, &key, 1, values), "push");
        return;
    }
    for (unsigned i = 0; i < r->member->pool->workers; i++) {
        pool_meet_here(r->member);
        float *to = plain_row(r, LDA_TOTALS, row);
        for (size_t k = 0; k < r->topics && r->member->index == i; k++) to[k] += values[k];
    }
}

enum { STRETCH_FLOATS = 1 << 16 };

uint64_t topic_rows_count(const struct lda *l)
{
    uint64_t tokens = l->corpus.start[l->corpus.documents], topics = l->options.topics;
    return tokens / topics + 1;
}

/* A worker's tokens, and some rows. */
struct stretch {
    struct pool_member *member;
    locus_key table; /* its first key */
    uint64_t length, first, end;
    size_t batch;
    locus_key *keys;
    float *rows;
};

static void stretch_open(struct stretch *x, const struct shelf *s, struct pool_member *m,
                         enum lda_table table)
{
    const struct corpus *c = &s->lda->corpus;
    *x = (struct stretch){.member = m,
                          .table = m->pool->tables[table].first,
                          .length = s->lda->options.topics,
                          .first = c->start[s->first],
                          .end = c->start[s->first + s->documents]};
    x->batch = STRETCH_FLOATS / x->length + 1;
    x->keys = take_memory(x->batch, sizeof *x->keys);
    x->rows = take_memory(x->batch * x->length, sizeof *x->rows);
}

static void stretch_close(struct stretch *x)
{
    free(x->keys);
    free(x->rows);
}

/* The first row that begins with such a token, or behind it. */
static uint64_t row_behind(const struct stretch *x, uint64_t token)
{
    return (token + x->length - 1) / x->length;
}

/* Those of the worker that the row has, from *from to before *end; they begin at `at` in it. */
static uint64_t tokens_of(const struct stretch *x, uint64_t row, uint64_t *from, uint64_t *end)
{
    uint64_t first = row * x->length;
    *from = first > x->first ? first : x->first;
    *end = first + x->length < x->end ? first + x->length : x->end;
    return *from - first;
}

static void fill_row(const struct stretch *x, uint64_t row, const float *values, float *to)
{
    uint64_t from, end, at = tokens_of(x, row, &from, &end);
    memset(to, 0, x->length * sizeof *to);
    if (end > from) memcpy(to + at, values + (from - x->first), (end - from) * sizeof *to);
}

/* Who has a row's first token sets it. */
static void set_rows(struct stretch *x, const float *values)
{
    uint64_t row = row_behind(x, x->first), end = row_behind(x, x->end);
    while (row < end) {
        size_t n = 0;
        for (; n < x->batch && row < end; n++, row++) {
            x->keys[n] = x->table + row;
            fill_row(x, row, values, x->rows + n * x->length);
        }
        must(locus_set(x->member->worker, x->keys, n, x->rows), "setting topics");
    }
}

/* All others add theirs to what was 0. */
static void add_to_first(struct stretch *x, const float *values)
{
    locus_key key = x->table + x->first / x->length;
    if (x->first % x->length == 0 || x->first == x->end) return;
    fill_row(x, x->first / x->length, values, x->rows);
    must(locus_push(x->member->worker, &key, 1, x->rows), "adding topics");
}

static void take_rows(struct stretch *x, float *values)
{
    uint64_t row = x->first / x->length, last = row_behind(x, x->end), from, end;
    while (row < last) {
        size_t n = 0;
        for (; n < x->batch && row + n < last; n++) x->keys[n] = x->table + row + n;
        must(locus_pull(x->member->worker, x->keys, n, x->rows), "reading topics");
        for (size_t i = 0; i < n; i++, row++) {
            uint64_t at = tokens_of(x, row, &from, &end);
            if (end > from)
                memcpy(values + (from - x->first), x->rows + i * x->length + at,
                       (end - from) * sizeof *values);
        }
    }
}

void topic_rows_write(const struct shelf *s, struct pool_member *m, enum lda_table table)
{
    struct stretch tokens, orders;
    stretch_open(&tokens, s, m, table);
    stretch_open(&orders, s, m, table + 1);
    uint64_t count = tokens.end - tokens.first;
    float *topics = take_memory(count + 1, sizeof *topics);
    float *order = take_memory(count + 1, sizeof *order);
    shelf_write(s, topics, order);
    set_rows(&tokens, topics);
    set_rows(&orders, order);
    pool_quiesce(m);
    add_to_first(&tokens, topics);
    add_to_first(&orders, order);
    free(topics);
    free(order);
    stretch_close(&tokens);
    stretch_close(&orders);
}

void topic_rows_read(struct shelf *s, struct pool_member *m, enum lda_table table)
{
    struct stretch tokens, orders;
    stretch_open(&tokens, s, m, table);
    stretch_open(&orders, s, m, table + 1);
    uint64_t count = tokens.end - tokens.first;
    float *topics = take_memory(count + 1, sizeof *topics);
    float *order = take_memory(count + 1, sizeof *order);
    take_rows(&tokens, topics);
    take_rows(&orders, order);
    shelf_read(s, topics, order);
    free(topics);
    free(order);
    stretch_close(&tokens);
    stretch_close(&orders);
}
