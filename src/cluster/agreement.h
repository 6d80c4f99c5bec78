/*
 * agreement.h - what a node brings to a cluster, and what all nodes have agreed on after joining.
 *
 * Memory    the caller's; the addresses belong to the rendezvous
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_CLUSTER_AGREEMENT_H
#define LOCUS_CLUSTER_AGREEMENT_H

#include "net/address.h"
#include "locus.h"

struct secret;

enum {
    RENDEZVOUS_NODES_MAX = 4096,
    MESSAGE_MAX = 1 << 20,
};

struct rendezvous_config {
    struct locus_config node;    /* complete, of several nodes, with the rendezvous' "host:port" */
    const char *data_address;    /* of this node, "host:port" */
    unsigned choice;             /* what rank 0 chooses if its own `shards` is 0 */
    const struct secret *secret; /* of the cluster; NULL: none */
    bool loopback_only;          /* rank 0 listens at no other address */
    /* A member was lost: its rank and the reason, which continues the sentence "node N (host:port)
     * ...". Called at most once, only after a successful join, from a thread of the rendezvous;
     * must not wait and must not call back. */
    void (*lost)(void *context, int rank, const char *reason);
    void *context;
};

/* What all agreed on. */
struct rendezvous_cluster {
    uint64_t id; /* never 0 */
    unsigned shards;
    /* the shortest of all nodes': a node that one of them gives up is lost for all */
    double peer_timeout_s;
    /* [size], of the data ports; belongs to the rendezvous */
    char (*address)[ADDRESS_MAX];
    unsigned *workers; /* [size] */
};

#endif
