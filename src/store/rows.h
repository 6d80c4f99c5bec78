/*
 * rows.h - the rows of many keys in one call, and fetching ahead what will be accessed.
 *
 * A batch is a pipeline: words and rows are on their way while earlier keys are accessed.
 *
 * Callers   workers, any thread; a shard fetches, too
 * Memory    the caller's
 * Waiting   as row.h
 * Life      as the store
 */
#ifndef LOCUS_STORE_ROWS_H
#define LOCUS_STORE_ROWS_H

#include "store/row.h"

/* Of one key alone, to write, before its word is looked at: fetches word and row, where that is
 * foreseen. A locked instruction waits for all that was written before, and what follows it does
 * not begin: without this, word and row would come one after the other. */
void row_fetch_to_write(struct row_ref);

/* Fetches the word into the cache, for an access soon; on one node the row as well, from its home
 * slot. */
void rows_fetch(const struct store *, const locus_key *keys, size_t n);
/* A moment later, when the word has arrived: the row from where the word says; of a replica also
 * its updates. */
void rows_fetch_found(const struct store *, const locus_key *keys, size_t n);
void row_fetch_found(struct row_ref);
/* The word alone. */
static inline void word_fetch(struct row_ref s)
{
    __builtin_prefetch(row_ref_word(s), 0, 3);
}

/*
 * The same for n keys, rows one after the other, memory fetched ahead. Keys must be in range. Does
 * all that are here; returns how many are not (or found no memory: then *rc is -ENOMEM) and, if
 * `missed` is not NULL, their positions. Adds to *replicas how many were done on replicas.
 */
struct missed_row {
    size_t position; /* in keys */
    size_t offset;   /* in values, in floats */
};
size_t rows_read(const struct store *, const locus_key *keys, size_t n, float *values,
                 struct missed_row *missed, size_t *replicas);
size_t rows_write(const struct store *, const locus_key *keys, size_t n, const float *values,
                  enum row_change, struct missed_row *missed, size_t *replicas, int *rc);

#endif
