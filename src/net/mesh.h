/*
 * mesh.h - the data connections of a node: one for each shard to every other node, made when the
 * cluster forms; and those to a node that joins it later, to which all others connect.
 *
 * Each node listens on one port. Of two nodes one connects and says hello; the other checks that the
 * connection belongs here, and answers. If the cluster has a secret, both prove that they know it.
 * Other connections (a port scanner, a node of an earlier cluster, a peer that says nothing) delay
 * nothing; a peer whose proof is wrong is named on stderr.
 *
 * Callers   the thread that opens a node, or one that connects it with another that joins; nodes of
 *           one process share nothing
 * Memory    its own, released on return; of unauthenticated peers as many as secret.h says
 * Waiting   to the deadline
 * Life      address_listen, then mesh_connect, which ends the listening: no peer can connect later
 */
#ifndef LOCUS_NET_MESH_H
#define LOCUS_NET_MESH_H

#include "net/address.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

struct secret;

/* Who of two nodes connects. */
enum mesh_side { MESH_NOBODY, MESH_WE_DO, MESH_THEY_DO };

struct mesh_config {
    uint64_t cluster; /* its id */
    unsigned rank, size, shards;
    const unsigned char *side;          /* [size] enum mesh_side */
    const char (*address)[ADDRESS_MAX]; /* [size]; numeric hosts */
    int listener;                       /* -1: nobody connects to us */
    uint64_t deadline_ns;               /* CLOCK_MONOTONIC */
    const struct secret *secret;        /* NULL: none */
    uint64_t report_ns;                 /* how often to report on stderr who is missing; 0: never */
    /* NULL, or a flag that another thread sets (atomically) to end the call within 0.1 s */
    const bool *cancel;
};

/* Connects to all peers; always closes the listener. fd[peer * shards + shard] are the connections,
 * -1 where there is none. Returns 0; or a negative errno with the sentence in locus_error(): -ETIMEDOUT,
 * which names who is missing, -EPROTO, -EACCES, -EMFILE, -ECANCELED, -EINVAL, -ENOMEM. Then the
 * caller closes those of fd[] that are not -1, which tells the peers; the reason must be sent
 * before. */
int mesh_connect(const struct mesh_config *, int *fd);

#define MESH_MAGIC UINT32_C(0x6d636f6c) /* "locm" */
enum { MESH_VERSION = 2 };

/*
 *      who connects             who listens
 *      ACCEPTED, nonce   ->
 *                        <-     CHALLENGE, nonce     with a secret only
 *      ACCEPTED, proof   ->
 *                        <-     ACCEPTED, proof      or a refusal, at either place
 */
enum mesh_status {
    MESH_ACCEPTED,
    MESH_OTHER_VERSION,
    /* perhaps of an earlier cluster at this address: worth another try, as are the next and the
     * last */
    MESH_OTHER_CLUSTER,
    MESH_DUPLICATE, /* that node already has a connection for that shard */
    MESH_MISFIT,    /* no such rank or shard here, or not the one to connect */
    MESH_CHALLENGE, /* no refusal: prove that you know the secret */
    MESH_UNPROVEN,  /* that proof is wrong */
};

/* Little-endian, as everything that locus sends. */
struct mesh_hello {
    uint32_t magic;
    uint16_t version;
    uint16_t status;  /* enum mesh_status */
    uint64_t cluster; /* 0 in a refusal, because others must not learn it */
    uint32_t rank;    /* the sender's */
    uint32_t shard;
    uint8_t proof[32]; /* or nonce (secret.h); zeros without a secret */
};
static_assert(sizeof(struct mesh_hello) == 56, "peers read this by offset");

#endif
