/*
 * best.h - the best model of a training so far: its rows are kept in tables of their own, so that a
 * checkpoint has them, too, and what is reported in the end is what is saved.
 *
 *     static const struct best_rows rows[] = {{MODEL, KEPT}};
 *     tables[KEPT] = best_table(&tables[MODEL], "best model", parameters);
 *     ...an epoch, and its validation...
 *     best_offer(m, is_better, rows, 1);
 *     ...the end...
 *     best_take(m, rows, 1);      then the test, then the file
 *
 * Callers   every worker of every node, collectively
 * Memory    what is kept of each row, once in the cluster; a block of rows, for the call
 * Waiting   for rows of other nodes, and for all workers
 */
#ifndef APPS_BEST_H
#define APPS_BEST_H

#include "pool.h"

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
