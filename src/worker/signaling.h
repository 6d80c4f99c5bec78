/*
 * signaling.h - sends intents and clocks of workers and loaders to the shards: a stream to each
 * shard, and waking the shard when it must act now.
 *
 * Callers   the worker's thread or the loader's
 * Memory    a pointer a shard, and the streams' chunks (intents/intents.h)
 * Waiting   never
 * Life      signaling_open, signaling_intent …, signaling_close. Does nothing if no shard uses
 *           intents
 */
#ifndef LOCUS_WORKER_SIGNALING_H
#define LOCUS_WORKER_SIGNALING_H

#include "worker/node.h"

/* Opens the streams of a worker or of one of its loaders; *streams stays NULL if no shard uses
 * intents. 0 or -ENOMEM. */
int signaling_open(locus_worker *, struct intent_stream ***streams);
/* The worker's own are closed last. */
void signaling_close(locus_worker *, struct intent_stream ***streams, bool ends_worker);
/* Keys are in range. Where no shard uses intents they are counted for statistics, and no more. 0,
 * -ENOBUFS or -ENOMEM: nothing recorded. */
int signaling_intent(locus_worker *, struct intent_stream **streams, const locus_key *keys,
                     size_t n, locus_clock start, locus_clock end);
/* The node no longer keeps these keys, nor will it. 0 or -ENOMEM: nothing recorded. */
int signaling_unintend(locus_worker *, const locus_key *keys, size_t n);
/* The worker's clock is now `now`. It was stored sequentially consistent, because the shard looks
 * at it once more after announcing that it sleeps. */
void signaling_advance(locus_worker *, locus_clock now);
/* Bounded staleness: the worker opens (0), or closes (INT64_MAX). */
void signaling_progress(locus_worker *, locus_clock);

#endif
