/*
 * newcomer.h - the links of this node to one that joins a running cluster. A thread of their own
 * makes them, while everything else goes on.
 *
 * Callers   newcomer_connect and _take: the rendezvous' thread; newcomer_end: that, or another one
 *           once it has ended
 * Memory    its own; descriptors until they are taken
 * Waiting   newcomer_end, and so newcomer_connect: 0.1 s at most, for the thread; newcomer_take: not,
 *           once `connected` was called
 * Life      init, any number of connect and take or end, fini
 */
#ifndef LOCUS_CLUSTER_NEWCOMER_H
#define LOCUS_CLUSTER_NEWCOMER_H

#include "net/mesh.h"

#include <pthread.h>

struct newcomer {
    /* On the thread: all links are there, or why they are not. */
    void (*connected)(void *context, uint64_t id, const char *why_not);
    void *context;
    struct mesh_config mesh;
    char (*address)[ADDRESS_MAX]; /* [size], but of that node only */
    unsigned char *side;          /* [size] */
    int *fd;                      /* [size * shards] */
    unsigned rank;
    uint64_t timeout_ns;
    pthread_t thread;
    bool runs, is_cancelled; /* the second one atomic */
};

/* Where all but this is zero: `connected`, its context, `mesh` as any of this cluster, `timeout_ns`. 0,
 * or -ENOMEM with the sentence; call fini in either case. */
int newcomer_init(struct newcomer *);
void newcomer_fini(struct newcomer *); /* zeros are allowed */

/* Ends what was under way, and connects to `rank` of a cluster with that id (mesh.h). */
void newcomer_connect(struct newcomer *, uint64_t id, unsigned rank, const char *address);
/* The socket of that shard, which is the caller's from now on; -1: there is none. */
int newcomer_take(struct newcomer *, unsigned shard);
/* It does not join after all, or all of its links were taken. */
void newcomer_end(struct newcomer *);

#endif
