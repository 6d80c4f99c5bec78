/*
 * one_node.h - what the tests of the public interface share: a cluster of one, opened in a line.
 */
#ifndef LOCUS_TEST_ONE_NODE_H
#define LOCUS_TEST_ONE_NODE_H

#include "test.h"
#include "locus.h"

#include <errno.h>
#include <stdlib.h>

static inline locus *node_of(const struct locus_table *tables, size_t count, unsigned workers,
                             unsigned shards)
{
    struct locus_config c;
    locus *n;
    locus_config_init(&c);
    c.tables = tables;
    c.table_count = count;
    c.workers = workers;
    c.shards = shards;
    CHECK_EQ(locus_open(&c, &n), 0);
    CHECK(n != NULL);
    return n;
}

/* One table. */
static inline locus *one_node(uint64_t rows, uint32_t length, unsigned workers)
{
    struct locus_table table = {.rows = rows, .length = length};
    return node_of(&table, 1, workers, 1);
}

static inline locus_worker *worker_of(locus *n)
{
    locus_worker *w;
    CHECK_EQ(locus_worker_open(n, &w), 0);
    CHECK(w != NULL);
    return w;
}

/* A node of one worker, closed with it. */
static inline void close_both(locus *n, locus_worker *w)
{
    CHECK_EQ(locus_worker_close(w), 0);
    CHECK_EQ(locus_close(n), 0);
}

/* A test on a node of one table and one worker, which its body knows as n and w. */
#define TEST_ON_NODE(suite, name, rows, length) \
    static void suite##__##name##__on(locus *, locus_worker *); \
    TEST(suite, name) \
    { \
        locus *n = one_node(rows, length, 1); \
        locus_worker *w = worker_of(n); \
        suite##__##name##__on(n, w); \
        close_both(n, w); \
    } \
    static void suite##__##name##__on(__attribute__((unused)) locus *n, \
                                      __attribute__((unused)) locus_worker *w)

static inline float *floats_of(size_t n)
{
    float *f = calloc(n, sizeof *f);
    CHECK(f != NULL);
    return f;
}

static inline struct locus_stats stats_of(const locus *n)
{
    struct locus_stats s;
    CHECK_EQ(locus_stats_read(n, &s), 0);
    return s;
}

/* A locus_change; the context counts its calls. */
static inline void halve(void *calls, float *row, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) row[i] /= 2;
    if (calls) ++*(int *)calls;
}

#endif
