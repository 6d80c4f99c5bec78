/*
 * round.h - communication rounds: when the owners hear of our intents and of our replicas' updates
 * (replica.h), and the holders of replicas of our rows (owner.h) (AdaPM, Appendix B.1.2;
 * README.md).
 *
 * A peer has at most one round under way: a run of entries and refreshes, ended by WIRE_ROUND,
 * which the peer acknowledges when it has served all before it. So whatever happens meanwhile is
 * aggregated into the next round. What waits for one is in the backlog (backlog.h): urgent news
 * goes with the next turn.
 *
 * Lazy news and refreshes only synchronize, and wait for the pacer (pacer.h). It counts what they
 * take in processor time of this thread, for where cores are shared the clock also counts others'
 * time. A round that leaves something behind is followed by the next at once, which counts as well.
 * What changed is known by the dirty set (store/dirty_set.h): a round costs what changed, not what
 * is replicated.
 *
 * Callers   shard.c, dispatch.c; intents.c through shard.c
 * Memory    32 bytes a peer and worker
 * Waiting   never
 * Life      round_init, round_turn now and then, round_fini
 */
#ifndef LOCUS_PROTOCOL_ROUND_H
#define LOCUS_PROTOCOL_ROUND_H

#include "protocol/lookahead.h"
#include "protocol/state.h"

enum {
    /* of one round and of the answers to it: no more wait for a link at once */
    ROUND_BYTES_MAX = 1 << 20,
    ROUND_BYTES_MIN = 1 << 14,
};

struct peer_round {
    /* the one under way carries refreshes, or follows rows that went there */
    bool refreshes;
    uint32_t number;             /* of the last one */
    uint64_t began_ns;           /* the last one */
    uint64_t ended_ns;           /* when the last one was acknowledged; 0: never */
    struct lookahead *lookahead; /* [workers] */
};

struct rounds {
    struct peer_round *peer; /* [nodes] */
    locus_clock *lookahead;  /* [workers] how far ahead to act on intents */
    size_t capacity;         /* bytes that a round may carry, with its answers */
    uint64_t lookaheads_ns;  /* when they were last looked at */
    bool lookaheads_changed;
    uint64_t sync_bytes; /* that our rounds and their answers carried in this turn */
    /* so many rounds, as far as intents go, are those that begin in this turn */
    unsigned instead_of;
    uint64_t dirty_ns;        /* dirty rows alone are no reason to synchronize before that */
    unsigned going_on;        /* peers whose last round was full of what synchronizes */
    bool ended_one;           /* the frame that is served ends a round of the peer's */
    struct request **quiesce; /* [workers] quiesce requests under way */
};

int round_init(struct shard *); /* 0 or -ENOMEM */
void round_fini(struct shard *);

/* Sends what may be sent; returns when it wants to be called again. */
uint64_t round_turn(struct shard *);

/* For intents.h: how far ahead to act on those of a worker, and how much further on those that
 * piggyback. */
locus_clock round_lookahead(const struct shard *, unsigned worker);
locus_clock round_ahead(const struct shard *, unsigned worker);
/* Before a turn looks at intents: can some piggyback? */
void round_look(struct shard *);

/* A worker quiesces: its request is completed when that is reached which its kind names
 * (request.h). */
void round_quiesce(struct shard *, struct request *);

/* A peer's round ends, or one of ours is acknowledged. NULL, or what is wrong with it. */
const char *round_end(struct shard *, unsigned peer, const struct wire_entry *);
/* A peer's frame is about to be served. */
void round_frame_begins(struct shard *);
/* It synchronized, and serving it took so much processor time. */
void round_served(struct shard *, uint64_t cpu_ns, uint64_t bytes);

#endif
