/*
 * parts.h - the rows of a call with many keys, by the worker's thread and its helpers; and
 * locus_distinct().
 *
 * Callers   the worker's thread
 * Memory    a worker's: missed rows of CALL_CHUNK keys a thread; 8 to 16 bytes a key, to find which
 *           repeat
 * Waiting   for helpers, while they copy or add rows
 * Life      locus_use_threads(), any number of calls, parts_close()
 */
#ifndef LOCUS_API_PARTS_H
#define LOCUS_API_PARTS_H

#include "worker/node.h"

/* Floats in the caller's rows of these keys together. */
size_t parts_floats(const struct store *, enum request_kind, const locus_key *keys, size_t n);

/* As rows_read() and rows_write(): n is at most the worker's `chunk` where there are others. */
size_t parts_access(const locus_worker *, enum request_kind, const locus_key *keys, size_t n,
                    float *values, struct missed_row *missed, size_t *replicas, int *rc);

/* Ends the helpers. */
void parts_close(locus_worker *);

#endif
