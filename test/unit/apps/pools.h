/*
 * pools.h - work of a pool's workers on some tables, for tests of what trainers are made of.
 */
#ifndef TEST_APPS_POOLS_H
#define TEST_APPS_POOLS_H

#include "pool.h"
#include "rows.h"

/* On plain arrays or with locus. */
static inline void pools_run(const struct locus_table *tables, size_t count, unsigned workers,
                             bool is_baseline, pool_work *work, void *context)
{
    struct pool pool;
    pool_open(&pool, &(struct pool_config){.tables = tables,
                                           .table_count = count,
                                           .workers = workers,
                                           .is_baseline = is_baseline});
    pool_run(&pool, work, context);
    pool_close(&pool);
}

/* The values of all rows of the first two tables, one after the other. */
struct pools_copy {
    double values[1200];
    size_t count, length;
};

static inline void pools_copy_row(void *copy, uint64_t row, const float *values)
{
    struct pools_copy *c = copy;
    (void)row;
    for (size_t i = 0; i < c->length; i++) c->values[c->count++] = (double)values[i];
}

static inline void pools_copy(struct pool_member *m, struct pools_copy *c)
{
    c->count = 0;
    for (size_t t = 0; t < 2; t++) {
        c->length = m->pool->tables[t].length;
        rows_visit(m, t, 0, m->pool->tables[t].rows, pools_copy_row, c);
    }
}

#endif
