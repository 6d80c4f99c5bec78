/*
 * backlog.h - what waits for the next round to each peer. Roles add to it; rounds (round.h) take from
 * it and send:
 *
 *   urgent    an intent became active; a set of a replica; the answer to a recall: as soon as the
 *             peer's round is over
 *   recall    likewise; but where rounds carry so little that they piggyback (pacer.h) it is lazy
 *   lazy      updates of replicas, expired intents
 *   refresh   rows of ours that changed, for their holders; where intents piggyback, a holder that
 *             got the row just now hears of it the next time
 *
 * Memory    8 bytes for each key that waits for a round and peer
 * Waiting   never
 * Life      backlog_init, any use, backlog_fini
 */
#ifndef LOCUS_PROTOCOL_BACKLOG_H
#define LOCUS_PROTOCOL_BACKLOG_H

#include "protocol/shard.h"

enum backlog_class { BACKLOG_URGENT = 1, BACKLOG_LAZY = 2, BACKLOG_RECALL = 4 };

struct index_list {
    uint64_t *index;
    size_t first, count, capacity; /* index[first … count-1] wait */
};

/* One peer's backlog. */
struct peer_backlog {
    bool is_under_way; /* a round of ours: what is added meanwhile waits for its end */
    bool goes_on;      /* the last round was full; the rest need not wait for the pacer */
    bool owes;         /* a row went there as an answer, and no round has followed yet */
    struct index_list urgent, recall, lazy, refresh;
    uint64_t refreshes_queued, refreshes_left; /* ever */
};

struct backlog {
    struct peer_backlog *peer; /* [nodes] */
    uint64_t *soon, *later;    /* bits of peers: of every turn; of a synchronizing turn alone */
    uint64_t waiting;          /* keys in the lists */
    uint64_t intents;          /* that begin, in the round that is being written */
    bool puts_off;             /* this turn left changes to a later synchronization */
};

int backlog_init(struct shard *); /* 0 or -ENOMEM */
void backlog_fini(struct shard *);

/* A key's sync, or a recall, waits for a round to the node; so does the refresh of its replica. */
void backlog_add(struct shard *, struct record *, unsigned node, enum backlog_class);
void backlog_add_refresh(struct shard *, unsigned node, uint64_t index);
/* A row went to the node as an answer, perhaps instead of a refresh: quiesce waits until it has
 * arrived. */
void backlog_owes(struct shard *, unsigned node);

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
/* Does anything wait for the pacer, that is, need not be sent at once? */
bool backlog_waits(const struct peer_backlog *);
/* Call this after any change of what waits for the peer, or of whether its round is under way. */
void backlog_note(struct shard *, unsigned peer);

#endif
