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
