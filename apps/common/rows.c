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

static size_t usual_rows(const struct pool_table *t)
{
    return BLOCK_FLOATS / t->length ? BLOCK_FLOATS / t->length : 1;
}

static void block_open(struct block *b, const struct pool_table *t, size_t rows)
{
    b->rows = rows;
    b->keys = take_memory(b->rows, sizeof *b->keys);
    b->values = take_memory(b->rows * t->length, sizeof *b->values);
}

static void block_close(struct block *b)
{
    free(b->keys);
    free(b->values);
}

static size_t block_at(struct block *b, const struct pool_table *t, uint64_t at, uint64_t end)
{
    size_t count = end - at < b->rows ? (size_t)(end - at) : b->rows;
    for (size_t i = 0; i < count; i++) b->keys[i] = t->first + at + i;
    return count;
}

void rows_init(struct pool_member *m, size_t table, rows_draw *draw, const void *context)
{
    const struct pool_table *t = &m->pool->tables[table];
    struct block b;
    uint64_t first, end;
    block_open(&b, t, usual_rows(t));
    pool_share(t->rows, m->place, m->total, &first, &end);
    for (uint64_t at = first; at < end; at += b.rows) {
        size_t count = block_at(&b, t, at, end);
        size_t stride = m->worker ? t->length : t->stride;
        float *to = m->worker ? b.values : t->values + at * stride;
        memset(to, 0, count * stride * sizeof *to);
        for (size_t i = 0; i < count && draw; i++) draw(context, at + i, to + i * stride);
        if (m->worker) must(locus_set(m->worker, b.keys, count, to), "set");
    }
    block_close(&b);
}

void rows_visit_blocks(struct pool_member *m, size_t table, uint64_t first, uint64_t end,
                       size_t block, rows_use_block *use, void *context)
{
    const struct pool_table *t = &m->pool->tables[table];
    struct block b;
    block_open(&b, t, block);
    for (uint64_t at = first; at < end; at += b.rows) {
        size_t count = block_at(&b, t, at, end);
        if (m->worker) must(locus_pull(m->worker, b.keys, count, b.values), "pull");
        for (size_t i = 0; i < count && !m->worker; i++)
            memcpy(b.values + i * t->length, t->values + (at + i) * t->stride,
                   t->length * sizeof *b.values);
        use(context, at, count, b.values);
    }
    block_close(&b);
}

struct one_by_one {
    rows_use *use;
    void *context;
    size_t length;
};

static void use_rows(void *one_by_one, uint64_t row, size_t count, const float *values)
{
    const struct one_by_one *o = one_by_one;
    for (size_t i = 0; i < count; i++) o->use(o->context, row + i, values + i * o->length);
}

void rows_visit(struct pool_member *m, size_t table, uint64_t first, uint64_t end, rows_use *use,
                void *context)
{
    const struct pool_table *t = &m->pool->tables[table];
    struct one_by_one o = {.use = use, .context = context, .length = t->length};
    rows_visit_blocks(m, table, first, end, usual_rows(t), use_rows, &o);
}

struct part {
    struct tensors *tensors;
    size_t at, count;
};

static void write_part(void *part, uint64_t row, const float *values)
{
    const struct part *p = part;
    (void)row;
    tensors_write(p->tensors, values + p->at, p->count * sizeof *values);
}

void rows_save(struct pool_member *m, size_t table, size_t at, size_t count,
               struct tensors *tensors)
{
    struct part p = {.tensors = tensors, .at = at, .count = count};
    rows_visit(m, table, 0, m->pool->tables[table].rows, write_part, &p);
}

struct locus_table best_table(const struct locus_table *of, const char *name, size_t floats)
{
    return (struct locus_table){.name = name, .rows = of->rows, .length = (uint32_t)floats};
}

enum { BLOCK_ROWS = 1024 };

struct copying {
    struct pool_member *member;
    const struct pool_table *to;
    size_t from_length, count; /* floats: of a row that comes; that are copied */
    locus_key *keys;
    float *values;
};

/* A rows_use_block. Rows that are longer than what comes keep the rest. */
static void copy_block(void *copying, uint64_t row, size_t rows, const float *values)
{
    struct copying *c = copying;
    const struct pool_table *to = c->to;
    bool is_plain = !c->member->worker;
    size_t stride = is_plain ? to->stride : to->length;
    float *target = is_plain ? to->values + row * stride : c->values;
    for (size_t i = 0; i < rows; i++) c->keys[i] = to->first + row + i;
    if (!is_plain && to->length > c->count)
        must(locus_pull(c->member->worker, c->keys, rows, target), "pull");
    for (size_t i = 0; i < rows; i++)
        memcpy(target + i * stride, values + i * c->from_length, c->count * sizeof *values);
    if (!is_plain) must(locus_set(c->member->worker, c->keys, rows, target), "set");
}

static void copy_table(struct pool_member *m, size_t from, size_t to)
{
    const struct pool_table *tables = m->pool->tables;
    size_t a = tables[from].length, b = tables[to].length;
    struct copying c = {.member = m, .to = &tables[to], .from_length = a, .count = a < b ? a : b};
    uint64_t first, end;
    c.keys = take_memory(BLOCK_ROWS, sizeof *c.keys);
    c.values = take_memory(BLOCK_ROWS * b, sizeof *c.values);
    pool_quiesce(m);
    pool_share(tables[from].rows, m->place, m->total, &first, &end);
    rows_visit_blocks(m, from, first, end, BLOCK_ROWS, copy_block, &c);
    pool_quiesce(m);
    free(c.keys);
    free(c.values);
}

bool best_offer(struct pool_member *m, bool is_better, const struct best_rows *rows, size_t count)
{
    double figure = m->place == 0 && is_better;
    pool_sum(m, &figure, 1);
    for (size_t i = 0; i < count && figure > 0; i++) copy_table(m, rows[i].model, rows[i].kept);
    return figure > 0;
}

void best_take(struct pool_member *m, const struct best_rows *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) copy_table(m, rows[i].kept, rows[i].model);
}
