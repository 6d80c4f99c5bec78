/*
 * rows.h - all rows of a table, block by block: their first values, what they have become, and how
 * they get into a file.
 *
 * Callers   workers' threads
 * Memory    a block of rows, for the call
 * Waiting   for rows of other nodes
 */
#ifndef APPS_ROWS_H
#define APPS_ROWS_H

#include "pool.h"
#include "tensors.h"

/* The row's first values; it comes as zeros. */
typedef void rows_draw(const void *context, uint64_t row, float *values);
/* Every worker of every node calls it, and writes its part. NULL: zeros stay. */
void rows_init(struct pool_member *, size_t table, rows_draw *, const void *context);

/* Rows from `first` to before `end`, `block` at a time. */
typedef void rows_use_block(void *context, uint64_t row, size_t count, const float *values);
void rows_visit_blocks(struct pool_member *, size_t table, uint64_t first, uint64_t end,
                       size_t block, rows_use_block *, void *context);

/* The rows one after the other. */
typedef void rows_use(void *context, uint64_t row, const float *values);
void rows_visit(struct pool_member *, size_t table, uint64_t first, uint64_t end, rows_use *,
                void *context);

/* Writes `count` floats of each row of the table, from float `at` on, as (a part of) the tensor
 * that is next. */
void rows_save(struct pool_member *, size_t table, size_t at, size_t count, struct tensors *);

#endif
