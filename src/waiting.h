/*
 * waiting.h - the intents of one worker whose start has not come: how many keys, and when the next one starts.
 *
 * A worker and its loaders add; the worker's clock takes away. A node may have LOCUS_WAITING_KEYS_MAX keys waiting in
 * all (some thousand for each further worker fewer, which the others hold in reserve). On a cluster of one an intent has no other effect: every row is here.
 *
 * Callers   worker.c, from the worker's thread and its loaders'
 * Memory    a heap of 16 bytes for each different start, given back at fini; at most the node's bound of keys
 * Waiting   for its own latch, some nanoseconds (longer when the heap grows)
 * Life      waiting_init, waiting_add / waiting_advance, waiting_fini
 */
#ifndef LOCUS_WAITING_H
#define LOCUS_WAITING_H

#include "locus.h"

struct waiting_start {
    locus_clock start;
    uint64_t keys;
};

struct waiting {
    struct waiting_start *heap; /* by start, lowest first */
    size_t count, room;
    locus_clock next;    /* the lowest start, INT64_MAX when none: advancing looks here first */
    uint64_t signaled;   /* keys, ever */
    uint64_t keys;       /* that wait now */
    uint64_t granted;    /* of the node's bound, at least `keys`; in blocks, so that workers seldom meet at node_keys */
    uint64_t *node_keys; /* granted to all workers of the node */
    int latch;
};

void waiting_init(struct waiting *, uint64_t *node_keys);
void waiting_fini(struct waiting *);

/* n keys that are intended from `start` on, the worker's clock being `now`. 0, -ENOBUFS or -ENOMEM: nothing recorded. */
int waiting_add(struct waiting *, locus_clock now, locus_clock start, uint64_t n);
/* The worker's clock has come to `now`. */
void waiting_advance(struct waiting *, locus_clock now);
uint64_t waiting_signaled(struct waiting *);

/* The same bound where shards keep the intents (actors/intents.h) and count off what no longer waits: n keys more of the
 * node. 0 or -ENOBUFS. */
int waiting_count(uint64_t *node_keys, uint64_t n);

#endif
