/*
 * rows.h - all rows of a table, block by block: their first values, and what they have become.
 *
 * Callers   workers' threads
 * Memory    a block of rows, for the call
 * Waiting   for rows of other nodes
 */
#ifndef APPS_ROWS_H
#define APPS_ROWS_H

#include "crew.h"

/* The row's first values; it comes as zeros. */
typedef void rows_draw(const void *context, uint64_t row, float *values);
/* Every worker of every node calls it, and writes its part. */
void rows_init(struct crew_member *, size_t table, rows_draw *, const void *context);

/* The rows one after the other. */
typedef void rows_use(void *context, uint64_t row, const float *values);
void rows_visit(struct crew_member *, size_t table, uint64_t first, uint64_t end, rows_use *, void *context);

#endif
