/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus_train.h - for training loops: rows in place, and batches prepared ahead. It is made of
 * calls of locus.h, whose rules hold here, too.
 */
#ifndef LOCUS_TRAIN_H
#define LOCUS_TRAIN_H

#include "locus.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Reads rows in place if they are all here, and otherwise pulls them. These copies lie in `copies`,
 * one after the other; who signaled the rows ahead mostly copies nothing. rows[i] becomes the row
 * of keys[i]. Equal keys have the same row in place, and each its own copy.
 *   1            in place: until the locus_read_end() that ends the section which this call began
 *   0            they are copies, or `copies` is NULL and one is not here: no section was begun
 *   -EINVAL, -ECONNRESET, -EDEADLK, -ENOMEM  as for locus_pull()
 */
LOCUS_API int locus_read_rows(locus_worker *, const locus_key *keys, size_t n, float *copies,
                              const float **rows);

/*
 * Has a thread prepare a worker's batches, and signal their intents ahead: a feed. The thread has a
 * loader of the worker, and prepares portions of work. A portion is what you make of it, mostly a
 * batch. The thread is a few portions ahead at first, later about as many as the worker has had, at
 * most `depth` - 1 beside the one that the worker has; then it waits.
 *
 * Choose `depth` so that its portions take the worker 10 to 100 ms: a few for batches of 10 ms,
 * thousands for steps of 10 us. A row needs two rounds of the manager to come, of some milliseconds
 * each, and more where cores are shared: what was announced later than that is late, and the worker
 * waits for the network. Further ahead costs memory alone: portions, and keys whose intents wait,
 * at most LOCUS_WAITING_KEYS_MAX on a node. Rows do not come earlier for it.
 */
typedef struct locus_feed locus_feed;
/* A locus_fill prepares the next portion, on the feed's thread: what is in it from before is yours
 * to use again. Returns false at the end: the portion is not used. */
typedef bool locus_fill(void *context, locus_loader *, void *portion);
/* `portions`: `depth` pointers to portions; the array and they are the feed's until it closes.
 * Without a worker (NULL) the loader is NULL, and nothing can be signaled.
 *   -EINVAL  no function, no portions, depth 0
 *   -EPERM   in a child that was forked
 *   -EAGAIN  no thread could be started
 *   -ENOMEM  no memory */
LOCUS_API int locus_feed_open(locus_worker *w, locus_fill *fill, void *context, void **portions,
                              size_t depth, locus_feed **out);
/* Gives the portion before back, and waits for the next one; NULL after the last, and for a feed
 * that cannot be used: locus_error() says why. By the worker's thread. */
LOCUS_API void *locus_feed_next(locus_feed *);
/* Ends the thread, wherever it is, and waits until it has prepared its portion. By the worker's
 * thread, before the worker closes. NULL is allowed: 0. -EPERM: in a child that was forked. */
LOCUS_API int locus_feed_close(locus_feed *);

#ifdef __cplusplus
}
#endif
#endif
