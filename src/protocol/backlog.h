/*
 * backlog.h - what waits for the next round to each peer: keys of which its owner must hear,
 * refreshes of replicas that it holds, recalls. Roles queue; rounds (round.h) take out and say it.
 *
 * Three classes of news wait for a round:
 *
 *   urgent    an intent became active; a set of a replica; a recall to give or to answer: as soon
 *             as the peer's round is over
 *   lazy      updates of replicas, expired intents; recalls to give, too, where rounds carry so
 *             little that they piggyback (pacer.h)
 * refresh rows of ours that changed, for their holders; where intents piggyback, a holder that got
 * the row just now hears of it the next time
 *
 * Callers   replica.c, owner.c, handover.c queue; round.c takes
 * Memory    8 bytes for each key that waits for a round and peer
 * Waiting   never
 * Life      backlog_init, any use, backlog_fini
 */
#ifndef LOCUS_PROTOCOL_BACKLOG_H
#define LOCUS_PROTOCOL_BACKLOG_H

#include "protocol/state.h"

enum backlog_class { BACKLOG_URGENT = 1, BACKLOG_LAZY = 2, BACKLOG_RECALL = 4 };

struct index_list {
    uint64_t *index;
    size_t first, count, capacity; /* index[first … count-1] wait */
};

/* Of one peer. */
struct peer_backlog {
    bool is_under_way; /* a round of ours: what is queued meanwhile waits for its end */
    bool goes_on;      /* the last one was full; what is left need not wait for the pacer */
    bool owes;         /* a row went there as an answer, and no round has followed it yet */
    struct index_list urgent, recall, lazy, refresh;
    uint64_t refreshes_queued, refreshes_left; /* ever */
};

struct backlog {
    struct peer_backlog *peer; /* [nodes] */
    /* bits of peers that a turn looks at; that one looks at which synchronizes, too */
    uint64_t *soon, *later;
    uint64_t waiting; /* keys in the lists */
    uint64_t intents; /* that begin, in the round that is written just now */
    bool puts_off;    /* this turn left changes to a later synchronization */
};

int backlog_init(struct shard *); /* 0 or -ENOMEM */
void backlog_fini(struct shard *);

/* What waits for a round to the node: a key's entry, urgent or lazy; the refresh of its replica; a
 * recall to give. */
void backlog_add_sync(struct shard *, struct record *, unsigned node, enum backlog_class);
void backlog_add_refresh(struct shard *, unsigned node, uint64_t index);
void backlog_add_recall(struct shard *, struct record *, unsigned node);
/* A row went to the node as an answer, maybe instead of a refresh: quiesce waits until it is
 * there. */
void backlog_owes(struct shard *, unsigned node);
/* Some holders hear of the key's change only the next time that we synchronize. */
void backlog_put_off(struct shard *, uint64_t index);

/* ---- for rounds ---- */

static inline size_t list_length(const struct index_list *l)
{
    return l->count - l->first;
}

uint64_t list_pop(struct backlog *, struct index_list *);

static inline unsigned backlog_words(const struct shard *s)
{
    return (s->nodes + 63) / 64;
}

bool backlog_is_urgent(const struct shard *, const struct peer_backlog *);
/* Something waits for the pacer: at least that need not be said at once. */
bool backlog_waits(const struct peer_backlog *);
/* After whatever changed what waits for the peer, or whether its round is under way. */
void backlog_note(struct shard *, unsigned peer);

#endif
