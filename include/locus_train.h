/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus_train.h - what a training loop has beside its accesses: rows in place or fetched, batches
 * that a thread prepares and signals ahead. On locus.h alone, whose rules hold here, too.
 */
#ifndef LOCUS_TRAIN_H
#define LOCUS_TRAIN_H

#include "locus.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Reads rows in place if this node holds all of them, and otherwise pulls all into `copies`, where
 * they lie one after the other: who signaled them ahead mostly copies nothing. rows[i] becomes the
 * row of keys[i]. Equal keys have the same row in place, and each its own copy.
 *   1            in place: until the locus_read_end() that ends the section which this call began
 *   0            they are copies, or `copies` is NULL and one is not here: no section was begun
 *   -EDEADLK...  as locus_pull() says it
 */
LOCUS_API int locus_read_rows(locus_worker *, const locus_key *keys, size_t n, float *copies,
                              const float **rows);

/*
 * A worker's feed: a thread with a loader of the worker prepares portions of work, some ahead of
 * the worker, and signals intent for them. A portion is what you make of it, mostly a batch. The
 * thread is a few portions ahead at first, later about as many as the worker has had, at most
 * `depth` - 1 beside the one that the worker has; then it waits.
 */
typedef struct locus_feed locus_feed;
/* Prepares the next portion, on the feed's thread: what is in it from before is yours to use again.
 * Returns false at the end: the portion is not used. */
typedef bool locus_fill(void *context, locus_loader *, void *portion);
/* `portions`: `depth` pointers to portions; the array and they are the feed's until it closes.
 * Without a worker (NULL) the loader is NULL, and nothing can be signaled.
 *   -EINVAL  no function, no portions, depth 0, a worker that is closed
 *   -EPERM   in a child that was forked
 *   -EAGAIN  no thread could be started
 *   -ENOMEM  no memory */
LOCUS_API int locus_feed_open(locus_worker *w, locus_fill *fill, void *context, void **portions,
                              size_t depth, locus_feed **out);
/* Gives the portion before back, and waits for the next one; NULL after the last, and for a feed
 * that cannot be used: locus_error() says why. By the worker's thread. */
LOCUS_API void *locus_feed_next(locus_feed *);
/* Ends the thread, wherever it is, and waits until it has prepared its portion. By the worker's
 * thread, before the worker closes. NULL is allowed: 0. -EINVAL: it is closed already. -EPERM: in a
 * child that was forked. */
LOCUS_API int locus_feed_close(locus_feed *);

#ifdef __cplusplus
}
#endif
#endif
