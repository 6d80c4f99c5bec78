/*
 * rows.h - all rows of a table, block by block: their first values, what they have become, and how
 * they get into a file.
 *
 * Callers   workers' threads
 * Memory    a block of rows, for the call
 * Waiting   for rows of other nodes; with the best model for all workers, too
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

/* The best model of a training so far: its rows are kept in tables of their own, so that a
 * checkpoint has them, too, and what is reported in the end is what is saved. Collective: every
 * worker of every node calls best_offer() after a validation, and best_take() in the end. */

/* For the first `floats` of each row of a table: its parameters, without the optimizer's state. */
struct locus_table best_table(const struct locus_table *of, const char *name, size_t floats);

/* Two tables of the pool. */
struct best_rows {
    size_t model, kept;
};

/* The first worker says whether the model is better than all before: then it is kept. Returns what
 * that one said. */
bool best_offer(struct pool_member *, bool is_better, const struct best_rows *, size_t count);
/* The model is the best one again; what rows have besides stays the last one's. */
void best_take(struct pool_member *, const struct best_rows *, size_t count);

#endif
