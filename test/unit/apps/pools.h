/*
 * pools.h - work of a pool's workers on some tables, for tests of what trainers are made of.
 */
#ifndef TEST_APPS_POOLS_H
#define TEST_APPS_POOLS_H

#include "pool.h"

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

#endif
