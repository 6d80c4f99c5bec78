/*
 * platform.h - a cluster of hundreds of nodes in one thread: what cluster.h and reactor.h promise,
 * on virtual time that network and processors use up as model.h says.
 *
 * The library is the one that ships: locus.c, access.c, the store and the shards. A node has
 * workers, fibers on processors of their own, and shards on others. A shard's turn is taken at one moment and lasts as long as what it did costs:
 * its frames leave one by one meanwhile, what arrives waits for its end. A shard that has had
 * nothing to do for REACTOR_SPIN_NS sleeps. A card sends and receives a byte at a time, in order;
 * the switch between them never is full, nothing is lost, acknowledgements of TCP take no room.
 *
 * Memory    frames, from malloc, until they are delivered; 20 bytes for each pair of nodes
 * Waiting   as fibers
 * Life      platform_begin, locus_open for each node, virtual_start for each worker, virtual_run,
 *           locus_close for each, platform_end
 */
#ifndef BENCH_SCALE_PLATFORM_H
#define BENCH_SCALE_PLATFORM_H

#include "model.h"
#include "net/wire.h"

enum { PLATFORM_NODES_MAX = 256, PLATFORM_FIBERS_MAX = 1200 };

void platform_begin(unsigned nodes, const struct model *);
void platform_end(void);

/* From now on nobody hears of what changes in rows that have replicas: neither their owners nor
 * their holders (NuPS, Section 5.7, "never"). Only where all replicas are kept for ever. */
void platform_never_synchronize(void);
/* For a worker: it works for a while. */
void platform_work(double ns);

/* What a node has done so far, also one that has left. */
struct platform_figures {
    uint64_t frames_out, frames_in, bytes_out, bytes_in, wire_bytes_out;
    uint64_t entries[WIRE_OPERATIONS]; /* sent */
    uint64_t entries_in;
    double shard_ns;   /* the shard's processor time, without looking for news */
    double polling_ns; /* looking for news, before it sleeps */
    double engine_ns;  /* what the shard's code took on this machine, without kernel and network */
    uint64_t late_ns;  /* sum over frames: from arrival until the shard began to serve it */
};
struct platform_figures platform_figures(unsigned node);
/* Other nodes that this one has sent a frame to since then. */
unsigned platform_peers(unsigned node, uint64_t since_ns);
/* Replicas that the node holds now; nodes that hold one of the key, which has row number `key` of
 * its shard. */
uint64_t platform_replicas(unsigned node);
unsigned platform_holders(uint64_t key);

#endif
