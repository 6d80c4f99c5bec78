#include "topic_rows.h"

#include "fail.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH_FLOATS = 1 << 16 };

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
    x->batch = BATCH_FLOATS / x->length + 1;
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
