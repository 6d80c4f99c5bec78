/*
 * mesh.h - the data connections of a node: to every other node one for each shard, made once, when
 * the cluster forms.
 *
 * Each node listens on one port. Of two nodes the one of higher rank connects and says hello, the
 * other checks that the connection belongs here and answers; all messages have the layout of struct
 * mesh_hello. When the cluster has a secret, both prove that they know it. Whatever else connects
 * (a port scanner, a node of an earlier cluster, a peer that says nothing) is closed or refused and
 * holds nobody up; one whose proof is wrong is named on stderr.
 *
 * Callers   whoever opens a node, on one thread; nothing is shared between nodes of one process
 * Memory    its own, given back on return; at most MESH_UNAUTHENTICATED_MAX connections that have
 *           not said hello, each for MESH_UNAUTHENTICATED_S at most, and as many that have yet to
 *           prove themselves as links are missing
 * Waiting   to the deadline
 * Life      mesh_listen (mesh_listener.h), then mesh_connect, which ends the listening: nobody can
 *           connect later
 */
#ifndef LOCUS_NET_MESH_H
#define LOCUS_NET_MESH_H

#include "net/mesh_address.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

struct secret;

enum {
    MESH_UNAUTHENTICATED_MAX = 64,
    MESH_UNAUTHENTICATED_S = 5,
};

struct mesh_config {
    uint64_t cluster; /* its id */
    unsigned rank, size, shards;
    const char (*address)[MESH_ADDRESS_MAX]; /* [size]; numeric hosts */
    int listener;
    uint64_t deadline_ns;        /* CLOCK_MONOTONIC */
    const struct secret *secret; /* NULL: none */
    uint64_t report_ns;          /* how often to say on stderr who is missing; 0: never */
    /* NULL, or what another thread sets (atomically) to end it within 0.1 s */
    const bool *cancel;
};

/*
 * Connects with all peers; closes the listener in any case. fd[peer * shards + shard] are the
 * connections, -1 for ourselves. 0, or with the sentence in locus_error(), and those of fd[] to be
 * closed that are not -1 (their end tells the peers of the failure: to say why, do so before):
 * -ETIMEDOUT names who is missing: "node 3 (10.0.0.2:4711) has not connected its links after 10
 *                s"
 *   -EPROTO      a node speaks another version, or knows another cluster size or number of shards
 *   -EMFILE      too few descriptors; says how many are needed
 *   -ECANCELED   cancel was set
 *   -EINVAL      an address that is none; -ENOMEM
 */
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
    /* of an earlier one at this address, perhaps: worth another try, as are the next and the
     * last */
    MESH_OTHER_CLUSTER,
    MESH_DUPLICATE, /* that node's connection for that shard stands */
    MESH_MISFIT,    /* no such rank or shard here, or not the one to connect */
    MESH_CHALLENGE, /* no refusal: prove that you know the secret */
    MESH_UNPROVEN,  /* that proof is wrong */
};

/* Little-endian, as everything that locus sends. */
struct mesh_hello {
    uint32_t magic;
    uint16_t version;
    uint16_t status;  /* enum mesh_status */
    uint64_t cluster; /* 0 in a refusal: it is no news for others */
    uint32_t rank;    /* the sender's */
    uint32_t shard;
    uint8_t proof[32]; /* or nonce (secret.h); zeros without a secret */
};
static_assert(sizeof(struct mesh_hello) == 56, "peers read this by offset");

#endif
