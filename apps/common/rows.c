#include "rows.h"

#include "fail.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_FLOATS = 1 << 16 };

struct block {
    size_t rows;
    locus_key *keys;
    float *values;
};

static void block_open(struct block *b, const struct crew_table *t)
{
    b->rows = BLOCK_FLOATS / t->length ? BLOCK_FLOATS / t->length : 1;
    b->keys = take_memory(b->rows, sizeof *b->keys);
    b->values = take_memory(b->rows * t->length, sizeof *b->values);
}

static void block_close(struct block *b)
{
    free(b->keys);
    free(b->values);
}

static size_t block_at(struct block *b, const struct crew_table *t, uint64_t at, uint64_t end)
{
    size_t count = end - at < b->rows ? (size_t)(end - at) : b->rows;
    for (size_t i = 0; i < count; i++) b->keys[i] = t->first + at + i;
    return count;
}

void rows_init(struct crew_member *m, size_t table, rows_draw *draw, const void *context)
{
    const struct crew_table *t = &m->crew->tables[table];
    struct block b;
    uint64_t first, end;
    block_open(&b, t);
    crew_share(t->rows, m->place, m->total, &first, &end);
    for (uint64_t at = first; at < end; at += b.rows) {
        size_t count = block_at(&b, t, at, end);
        float *to = m->worker ? b.values : t->values + at * t->length;
        memset(to, 0, count * t->length * sizeof *to);
        for (size_t i = 0; i < count; i++) draw(context, at + i, to + i * t->length);
        if (m->worker) must(locus_set(m->worker, b.keys, count, to), "set");
    }
    block_close(&b);
}

void rows_visit(struct crew_member *m, size_t table, uint64_t first, uint64_t end, rows_use *use, void *context)
{
    const struct crew_table *t = &m->crew->tables[table];
    struct block b;
    block_open(&b, t);
    for (uint64_t at = first; at < end; at += b.rows) {
        size_t count = block_at(&b, t, at, end);
        const float *from = m->worker ? b.values : t->values + at * t->length;
        if (m->worker) must(locus_pull(m->worker, b.keys, count, b.values), "pull");
        for (size_t i = 0; i < count; i++) use(context, at + i, from + i * t->length);
    }
    block_close(&b);
}
