/*
 * newcomer.h - the links of this node to one that joins a running cluster. A thread of their own
 * makes them, while everything else goes on.
 *
 * Callers   the rendezvous' thread; newcomer_fini: another one, once that has ended
 * Memory    its own; descriptors until they are taken
 * Waiting   for an earlier thread, 0.1 s at most; newcomer_take: not, once the rendezvous was told
 * Life      init, any number of connect and take, fini
 */
#ifndef LOCUS_CLUSTER_NEWCOMER_H
#define LOCUS_CLUSTER_NEWCOMER_H

#include "net/mesh.h"

#include <pthread.h>

struct newcomer {
    struct rendezvous *rendezvous; /* is told that all links are there, or why they are not */
    struct mesh_config mesh;
    char (*address)[ADDRESS_MAX]; /* [size], but of that node only */
    unsigned char *side;          /* [size] */
    int *fd;                      /* [size * shards] */
    unsigned rank;
    uint64_t timeout_ns;
    pthread_t thread;
    bool runs, is_cancelled; /* the second one atomic */
};

/* Where all but this is zero: `rendezvous`, `mesh` as any of this cluster, `timeout_ns`. 0, or -ENOMEM
 * with the sentence; call fini in either case. */
int newcomer_init(struct newcomer *);
void newcomer_fini(struct newcomer *); /* zeros are allowed */

/* Ends what was under way, and connects to `rank` of a cluster with that id (mesh.h); if there is an
 * address: else it does not join after all. */
void newcomer_connect(struct newcomer *, uint64_t id, unsigned rank, const char *address);
/* The socket of that shard, which is the caller's from now on; -1: there is none. */
int newcomer_take(struct newcomer *, unsigned shard);

#endif
