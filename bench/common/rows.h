/*
 * rows.h - rows of a cluster of processes: whose they are, and what stands in them before anything
 * is timed.
 *
 * Callers   the thread of the worker
 * Memory    the caller's; buffers for one call
 * Waiting   for locus_set. What goes wrong ends the program with a sentence
 */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include "locus.h"

/* A value for all floats of a row that tells its key; 0. */
float row_value(locus_key key);
float row_zero(locus_key key);

/* Writes all rows that this node owns, value(key) into each float. A row that was never written has
 * no memory: reading or moving it would be too cheap. */
void rows_write_own(locus *node, locus_worker *worker, float (*value)(locus_key));

/* The keys of [first, first + rows) that this node does not own, to `keys`, which has room for all.
 * Returns how many. */
size_t rows_elsewhere(locus *node, locus_key first, uint64_t rows, locus_key *keys);

#endif
