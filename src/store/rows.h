/*
 * rows.h - operations on the rows of many keys in one call, and prefetching.
 *
 * A batch is a pipeline: words and rows are prefetched while earlier keys are accessed.
 *
 * Callers   workers, any thread; a shard fetches, too
 * Memory    the caller's
 * Waiting   as row.h
 * Life      as the store
 */
#ifndef LOCUS_STORE_ROWS_H
#define LOCUS_STORE_ROWS_H

#include "store/row.h"

/* For one key alone, before a write looks at its word: prefetches the word and, if its place
 * follows from the key, the row. A locked instruction waits for all earlier stores, and later loads
 * wait for it; without the prefetch, word and row would be loaded one after the other. */
void row_fetch_to_write(struct row_ref);

/* Prefetches the word for an access soon; in a cluster of one the row as well, from its home
 * slot. */
void rows_fetch(const struct store *, const locus_key *keys, size_t n);
/* A moment later, when the word has arrived: prefetches the row to which the word points; of a
 * replica also its updates. */
void rows_fetch_found(const struct store *, const locus_key *keys, size_t n);
void row_fetch_found(struct row_ref);
/* The word alone. */
static inline void word_fetch(struct row_ref s)
{
    __builtin_prefetch(row_ref_word(s), 0, 3);
}

/*
 * The same for n keys, with rows one after the other, and prefetching. Keys must be in range. Does
 * all keys that are here. Returns how many are not (or found no memory: then *rc is -ENOMEM) and,
 * if `missed` is not NULL, their positions. Adds to *replicas how many were done on replicas.
 */
struct missed_row {
    size_t position; /* in keys */
    size_t offset;   /* in values, in floats */
};
size_t rows_read(const struct store *, struct copies *mine, const locus_key *keys, size_t n,
                 float *values, struct missed_row *missed, size_t *replicas);
size_t rows_write(const struct store *, struct copies *mine, const locus_key *keys, size_t n,
                  const float *values, enum row_change, struct missed_row *missed, size_t *replicas,
                  int *rc);
/* The same of rows with their state, without fetching ahead: with `sets`, `rows`
 * written. */
size_t rows_access_stored(const struct store *, const locus_key *keys, size_t n, float *rows,
                          bool sets, struct missed_row *missed, size_t *replicas, int *rc);

#endif
