/*
 * actor.h - the shard as an actor: it manages its keys on this node, and communicates with the same
 * shard on the other nodes.
 *
 * As origin it sends the requests of this node's workers to the owners of the keys and brings back
 * the answers. As owner it serves the requests of other nodes' shards and decides where rows are
 * (owner.h). For every peer it keeps its requests under way, together with the size of their
 * answers, within the credit. So a slow peer slows down those that ask it, and every queue has a
 * bound: what is forwarded or parked on the way counts against its origin's credit.
 *
 * Callers   one thread at a time: the reactor's, a waiting worker's that has its turn (turn.h), or
 *           the simulation's
 * Memory    its own; 8 bytes for each possible request of each worker; record.h
 * Waiting   never, except as dispatch.h says: if the credit is used up, shard_serve says so
 * Life      shard_init, turns, shard_fail if a peer is lost (then every request fails), shard_fini
 */
#ifndef LOCUS_ACTORS_ACTOR_H
#define LOCUS_ACTORS_ACTOR_H

#include "intents/intents.h"
#include "protocol/shard.h"

struct shard_config {
    const struct node_plan *plan; /* stays valid */
    const struct platform *platform;
    unsigned number;
    size_t credit_bytes;
    bool has_own_core; /* its thread: no worker needs the time that it takes */
    /* processor time of the platform for a round, at each end: one frame out, one in */
    uint64_t round_ns;
    uint64_t kib_ns; /* the same for a KiB of it */
};

/* Bytes that may wait here to be sent, and as many that may be parked: a quarter of the machine's
 * memory, divided by the node's shards. */
size_t shard_memory_max(const struct store *);
/* 0 or -ENOMEM. */
int shard_init(struct shard *, const struct shard_config *);
void shard_fini(struct shard *);

/* After requests and frames. Returns when it must be called again even if nothing happens. */
uint64_t shard_turn(struct shard *, uint64_t now_ns);

/* Takes a request on, or goes on with it: sends what the credit allows. True: all of it was taken
 * on (it will be completed, or has been). False: call again with the same request after the next
 * frame, before any other request of that worker. */
bool shard_serve(struct shard *, struct request *);

/* An intent of this node begins or ends. Turns do this with what workers signal. */
void shard_intent(struct shard *, const struct intent_event *);

/* Would a turn do anything? Asked before sleeping, after announcing it. */
bool shard_has_news(const struct shard *);

/* A frame of entries. Returns NULL, or what is wrong with it, in the words of wire.h. */
const char *shard_frame(struct shard *, unsigned peer, const struct wire_frame *, const void *body);

/* A heartbeat from `peer`: it has nothing to say, so nothing has changed. */
void shard_heartbeat(struct shard *, unsigned peer);

/* A node was lost: completes all requests with rc, now and in future. */
void shard_fail(struct shard *, int rc);

/* What a shard knows of one key, for `locus explain`; what happened to it is in events.h. */
enum { SNAPSHOT_HOLDERS_MAX = 64 };

struct snapshot_holder {
    unsigned node;
    bool is_kept, is_current; /* it has what the main copy has, or that is on its way */
    uint64_t brought_ns;      /* ago */
};

struct key_snapshot {
    uint64_t now_ns;
    unsigned owner; /* as far as we know; if that is us and the row is not here, it is on its way */
    uint64_t term;  /* of that ownership, which is how often the row has moved */
    bool is_here, is_replica;
    bool is_asking;                 /* a sync of ours is not yet answered */
    bool is_kept;                   /* an intent that never ends */
    unsigned wanted;                /* active intents that will end */
    uint64_t parked;                /* requests that wait here for the row */
    uint64_t heard_ns;              /* of a replica: how long ago its owner was last heard of */
    unsigned holders, more_holders; /* `more` do not fit below */
    struct snapshot_holder holder[SNAPSHOT_HOLDERS_MAX];
};

void shard_snapshot(struct shard *, uint64_t index, struct key_snapshot *);

/* Adds what was counted so far. Any thread. */
void shard_add_counters(const struct shard *, struct shard_counters *to);
void shard_add_histogram(const struct shard *, enum locus_histogram_kind,
                         struct locus_histogram *to);
/* The credit in use towards a peer. Any thread. */
size_t shard_asked_bytes(const struct shard *, unsigned peer);

#endif
