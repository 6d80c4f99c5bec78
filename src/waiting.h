/*
 * waiting.h - the intents of one worker whose start has not come: how many keys, and when they
 * start.
 *
 * A node may have LOCUS_WAITING_KEYS_MAX keys waiting in all (a few thousand fewer for each further
 * worker, which the others hold in reserve). On a cluster of one an intent has no other effect:
 * every row is here. So a worker that advances its clock does nothing here. Whoever adds an intent
 * removes what has started, now and then, and whenever there is no room.
 *
 * Callers   intent.c, worker.c, from the worker's thread and its loaders'; from another worker's,
 *           when that lacks room
 * Memory    a heap of 16 bytes for each different start, given back at fini; at most the node's
 *           bound of keys
 * Waiting   for its own latch: some nanoseconds, and longer when the heap grows or many keys are
 *           added at once
 * Life      waiting_init, waiting_add / waiting_give_up, waiting_fini
 */
#ifndef LOCUS_WAITING_H
#define LOCUS_WAITING_H

#include "base/clock_heap.h"

struct waiting {
    struct clock_heap starts; /* and how many keys */
    locus_clock seen;         /* the worker's clock at the last look at it */
    uint64_t signaled;        /* keys, ever */
    uint64_t keys;            /* that waited then, and what was added since */
    /* of the node's bound, at least `keys`; in blocks, so that workers seldom meet at node_keys */
    uint64_t granted;
    uint64_t *node_keys; /* granted to all workers of the node */
    int latch;
};

void waiting_init(struct waiting *, uint64_t *node_keys);
void waiting_fini(struct waiting *);

/* n keys that are intended from `start` on; the worker's clock. 0, -ENOBUFS or -ENOMEM: nothing
 * recorded. */
int waiting_add(struct waiting *, const locus_clock *clock, locus_clock start, uint64_t n);
/* For another worker, which has no room for n keys: gives up room for as many, and some thousand,
 * that have started. */
void waiting_give_up(struct waiting *, const locus_clock *clock, uint64_t n);
uint64_t waiting_signaled(struct waiting *);

/* The same bound where shards keep the intents (protocol/intents.h) and count off what no longer
 * waits: n keys more of the node. 0 or -ENOBUFS. */
int waiting_count(uint64_t *node_keys, uint64_t n);

#endif
