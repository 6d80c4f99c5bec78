#include "best.h"

#include "fail.h"
#include "rows.h"

#include <stdlib.h>
#include <string.h>

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
