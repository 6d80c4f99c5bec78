/*
 * rounds.h - communication rounds: when the owners hear of our intents and of our replicas' updates (entries.h), and the
 * holders of replicas of our rows (owner.h) (AdaPM, Appendix B.1.2; README.md).
 *
 * A peer has at most one round under way: a run of entries and refreshes, ended by WIRE_ROUND, which the peer acknowledges when
 * it has served all before it. So whatever happens meanwhile is aggregated into the next round. Three classes of news
 * wait for it:
 *
 *   urgent    an intent became active; a set of a replica; a poke to give or to answer: as soon as the peer's round is
 *             over
 *   lazy      updates of replicas, expired intents; pokes to give, too, where rounds carry so little that they ride
 *             along (governor.h)
 *   refresh   rows of ours that changed, for their holders; but for those who got the row just now, where intents ride
 *             along: the next time
 *
 * Lazy and refreshes only synchronize, and wait for the governor (governor.h), which counts what they take in processor time of
 * this thread: where cores are shared the clock counts what others had, and replicas got several times as old. A round that
 * leaves something behind is followed by the next at once, which counts as well. What changed is known by marks
 * (store/marks.h): a round costs what changed, not what is replicated.
 *
 * Callers   shard.c, entries.c, owner.c, relocation.c; by way of shard.c intents.c
 * Memory    8 bytes for each key that waits for a round and peer; 32 a peer and worker
 * Waiting   never
 * Life      rounds_init, rounds_turn now and then, rounds_fini
 */
#ifndef LOCUS_PROTOCOL_ROUND_H
#define LOCUS_PROTOCOL_ROUND_H

#include "protocol/pacer.h"
#include "protocol/record.h"
#include "protocol/lookahead.h"

struct shard;

enum {
    ROUNDS_BYTES_MAX = 1 << 20, /* of one round and of the answers to it: no more wait for a link at once */
    ROUNDS_BYTES_MIN = 1 << 14,
};

enum rounds_class { ROUNDS_URGENT = 1, ROUNDS_LAZY = 2, ROUNDS_POKE = 4 };

struct index_list {
    uint64_t *index;
    size_t first, count, room; /* index[first … count-1] wait */
};

struct peer_round {
    bool is_under_way;
    bool refreshes;    /* it carries refreshes, or follows rows that went there */
    bool owes;         /* a row went there as an answer, and no round has followed it yet */
    bool goes_on;      /* the last one was full; what is left need not wait for the governor */
    uint32_t number;   /* of the last one */
    uint64_t ended_ns; /* when the last one was acknowledged; 0: never */
    struct index_list urgent, poke, lazy, refresh;
    struct timing *timing; /* [workers] */
};

struct rounds {
    struct peer_round *peer; /* [nodes] */
    uint64_t *soon, *later;  /* bits of peers that a turn looks at; that one looks at which synchronizes, too */
    locus_clock *window;     /* [workers] how far ahead to act on intents */
    size_t room;             /* bytes that a round may carry, with its answers */
    uint64_t windows_ns;     /* when they were last looked at */
    bool windows_changed;
    struct governor governor;
    uint64_t sync_bytes;     /* that our rounds and their answers carried in this turn */
    uint64_t intents;        /* in the round that begins */
    unsigned instead_of;     /* so many rounds, as far as intents go, are those that begin in this turn */
    bool takes_along;        /* in this turn intents may ride along */
    bool puts_off;           /* this turn left changes to a later synchronization: */
    uint64_t marks_ns;       /*   marks alone are no reason for one before that */
    unsigned going_on;       /* peers whose last round was full of what synchronizes */
    bool ended_one;          /* the frame that is served ends a round of the peer's */
    uint64_t waiting;        /* keys in the lists */
    struct request **settle; /* [workers] quiesce requests under way */
    unsigned settles;
};

int rounds_init(struct shard *);
void rounds_fini(struct shard *);

/* Sends what may be sent; returns when it wants to be called again. */
uint64_t rounds_turn(struct shard *);

/* For intents.h: how far ahead to act on those of a worker, and how much further on those that ride along. */
locus_clock rounds_window(void *shard, unsigned worker);
locus_clock rounds_ahead(void *shard, unsigned worker);
/* Before a turn looks at intents: can some ride along? */
void rounds_look(struct shard *);
/* How long the answer to one can wait that rides along in this turn and starts so many eighths beyond the window. */
uint32_t rounds_patience_us(const struct shard *, unsigned eighths);

/* What waits for a round to the node: a key's entry, urgent or lazy; the refresh of its replica; a poke to give. */
void rounds_queue_entry(struct shard *, struct record *, unsigned node, enum rounds_class);
void rounds_queue_refresh(struct shard *, unsigned node, uint64_t index);
void rounds_queue_poke(struct shard *, struct record *, unsigned node);
/* A row went to the node as an answer, maybe instead of a refresh: quiesce waits until it is there. */
void rounds_answered(struct shard *, unsigned node);
/* Some holders hear of the key's change only the next time that we synchronize. */
void rounds_put_off(struct shard *, uint64_t index);

/* A peer's round ends, or one of ours is acknowledged. NULL, or what is wrong with it. */
const char *rounds_end(struct shard *, unsigned peer, const struct wire_entry *);
/* A peer's frame is about to be served. */
void rounds_frame_begins(struct shard *);
/* It synchronized, and serving it took so much processor time. */
void rounds_served(struct shard *, uint64_t cpu_ns, uint64_t bytes);

#endif
