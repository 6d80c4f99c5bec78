/*
 * word_work.h - the operations on rows whose latch and version are in the directory word, by
 * row.h's functions: for the library's (word.c) and for others of the same names (word_near.c),
 * which must be there before this is included.
 *
 * Callers   several threads at once
 * Memory    a store of one table
 * Waiting   for a row's latch
 */
#ifndef BENCH_LAYOUT_WORD_WORK_H
#define BENCH_LAYOUT_WORD_WORK_H

#include "layout.h"

#include "store/row.h"

#include <stdlib.h>

static inline void word_write_all(struct store *s, uint64_t rows, uint32_t length)
{
    float *ones = malloc(length * sizeof *ones);
    if (ones == NULL) abort();
    for (uint32_t i = 0; i < length; i++) ones[i] = 1;
    for (uint64_t key = 0; key < rows; key++)
        expect_no_misses(row_set(store_row_ref(s, key), ones) != 0);
    free(ones);
}

static inline void *word_open(uint64_t rows, uint32_t length)
{
    struct locus_table table = {.name = "rows", .rows = rows, .length = length};
    struct store *s = malloc(sizeof *s);
    if (s == NULL) return NULL;
    if (store_init(s, &table, 1, 1, 1, 0) != 0) {
        free(s);
        return NULL;
    }
    word_write_all(s, rows, length);
    return s;
}

static inline void word_close(void *rows)
{
    store_fini(rows);
    free(rows);
}

static inline void word_pull_1(void *rows, const uint64_t *keys, size_t n, float *batch)
{
    struct store *s = rows;
    size_t misses = 0, length = s->partition->length;
    for (size_t i = 0; i < n; i++)
        misses += row_read(store_row_ref(s, keys[i]), batch + i % BATCH * length) != 0;
    expect_no_misses(misses);
}

static inline void word_push_1(void *rows, const uint64_t *keys, size_t n, float *batch)
{
    struct store *s = rows;
    size_t misses = 0, length = s->partition->length;
    for (size_t i = 0; i < n; i++)
        misses += row_add(store_row_ref(s, keys[i]), batch + i % BATCH * length) != 0;
    expect_no_misses(misses);
}

static inline void word_pull_64(void *rows, const uint64_t *keys, size_t n, float *batch)
{
    for (size_t i = 0; i < n; i += BATCH)
        expect_no_misses(rows_read(rows, keys + i, BATCH, batch, NULL, NULL));
}

static inline void word_push_64(void *rows, const uint64_t *keys, size_t n, float *batch)
{
    for (size_t i = 0; i < n; i += BATCH)
        expect_no_misses(rows_write(rows, keys + i, BATCH, batch, ROW_ADD, NULL, NULL, NULL));
}

#define WORD_OPERATIONS \
    { \
        word_pull_1, word_pull_64, word_push_1, word_push_64 \
    }

#endif
