/*
 * waiting.h - the intents of one worker that have not started: how many keys, and when they start.
 *
 * At most LOCUS_WAITING_KEYS_MAX keys of a node may wait (a few thousand fewer for each further
 * worker, because workers hold some in reserve). On a cluster of one an intent has no other effect,
 * because every row is here. So a worker that advances its clock does nothing here. Adding an
 * intent removes those that have started, now and then, and whenever the limit is reached.
 *
 * Callers   the worker's thread and its loaders'; another worker's if that has reached the limit
 * Memory    a heap of 16 bytes for each different start, released at fini; at most the node's bound
 *           of keys
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
    uint64_t keys;            /* that waited then, and those added since */
    /* the worker's share of the node's bound, at least `keys`; in blocks, so that workers rarely
     * compete for node_keys */
    uint64_t granted;
    uint64_t *node_keys; /* granted to all workers of the node */
    int latch;
};

void waiting_init(struct waiting *, uint64_t *node_keys);
void waiting_fini(struct waiting *);

/* n keys that are intended from `start` on; the worker's clock. 0, -ENOBUFS or -ENOMEM: nothing
 * recorded. */
int waiting_add(struct waiting *, const locus_clock *clock, locus_clock start, uint64_t n);
/* For another worker that cannot add n keys: gives up the share of n keys that have started, and of
 * some thousand more. */
void waiting_give_up(struct waiting *, const locus_clock *clock, uint64_t n);
uint64_t waiting_signaled(struct waiting *);

/* The same bound if shards keep the intents (protocol/intents.h), which subtract what no longer
 * waits: adds n keys of the node. 0 or -ENOBUFS. */
int waiting_count(uint64_t *node_keys, uint64_t n);

#endif
