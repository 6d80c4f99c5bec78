/*
 * round.h - communication rounds: when owners are sent our intents and our replicas' updates
 * (replica.h), and holders the changes of our rows (owner.h) (AdaPM, Appendix B.1.2; README.md).
 *
 * There is at most one round under way to each peer: a run of syncs and refreshes that ends with
 * WIRE_ROUND. The peer acknowledges it when it has served everything before it. Whatever happens
 * meanwhile is aggregated into the next round; urgent news goes with the next turn (backlog.h).
 *
 * Lazy news and refreshes only synchronize, and wait for the pacer (pacer.h). Their cost is counted
 * in processor time of this thread, because on shared cores elapsed time would include the time of
 * other threads. A round that leaves something behind is followed by the next at once.
 *
 * Memory    32 bytes a peer and worker
 * Waiting   never
 * Life      round_init, round_turn in each turn, round_fini
 */
#ifndef LOCUS_PROTOCOL_ROUND_H
#define LOCUS_PROTOCOL_ROUND_H

#include "intents/pacer.h"
#include "protocol/shard.h"

enum {
    /* of one round and its answers: the most that waits for a link at once */
    ROUND_BYTES_MAX = 1 << 20,
    ROUND_BYTES_MIN = 1 << 14,
};

struct peer_round {
    bool refreshes;    /* the round under way carries some, or follows rows that went there */
    uint32_t number;   /* of the last round */
    uint64_t begun;    /* its number among our rounds to all peers */
    uint64_t began_ns; /* the last one */
    uint64_t ended_ns; /* when the last round was acknowledged; 0: never */
    struct lookahead *lookahead; /* [workers] */
};

/* What a worker asks to be flushed. With REQUEST_FLUSH_EARLIER first the dirty set is taken, then
 * what the replicas gained is sent, then the rounds are over that it went with. */
struct flush {
    struct request *request; /* NULL: none is under way */
    uint64_t interval;       /* of what is to be sent (clocks.h); 0: not yet */
    bool is_sent;
    uint64_t round; /* the last one that may have taken it along */
};

struct rounds {
    struct peer_round *peer; /* [nodes] */
    locus_clock *lookahead;  /* [workers] how far ahead to act on intents */
    size_t capacity;         /* bytes that a round may take, with its answers */
    uint64_t lookaheads_ns;  /* when they were last computed */
    bool lookaheads_changed;
    uint64_t sync_bytes; /* that our rounds and their answers carried in this turn */
    unsigned instead_of; /* rounds that each round of this turn replaces, as far as intents go */
    uint64_t dirty_ns;   /* dirty rows alone are no reason to synchronize before this */
    unsigned going_on;   /* peers whose last round was full of synchronizing messages */
    struct flush *flush; /* [workers] */
    uint64_t begun;      /* rounds, ever */
};

int round_init(struct shard *); /* 0 or -ENOMEM */
void round_fini(struct shard *);

/* Sends what may be sent. Returns the time of the next call that it needs. */
uint64_t round_turn(struct shard *);

/* Before a turn looks at intents: decides how far ahead to act on each worker's, and how much
 * further on those that piggyback. */
void round_decide_lookaheads(struct shard *);

/* A worker quiesces: its request is completed when the state that its kind names is reached
 * (request.h). */
void round_quiesce(struct shard *, struct request *);

/* Looks at the rows that have changed, and takes them out of the dirty set. */
void round_take_changes(struct shard *);

/* The peer was lost: nothing waits for it, or for a round to it; all keys are to be considered
 * anew. */
void round_forget(struct shard *, unsigned peer);

/* A peer's round ends, or one of ours is acknowledged. Returns NULL, or what is wrong with it. */
const char *round_end(struct shard *, const struct arrival *);

#endif
