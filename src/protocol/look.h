/*
 * look.h - what a shard knows of one key, for `locus explain`: where the main copy is, which nodes
 * hold replicas, what this node intends, and what was recently decided about the key.
 *
 * Callers   the shard's thread. A look changes only which keys are watched (decisions.h)
 * Memory    the caller's
 * Waiting   never. It looks through this shard's intents, at most INTENTS_LOOK_MAX keys
 * Life      none
 */
#ifndef LOCUS_PROTOCOL_LOOK_H
#define LOCUS_PROTOCOL_LOOK_H

#include "intents/intents.h"
#include "protocol/decisions.h"
#include "protocol/shard.h"

enum { LOOK_HOLDERS_MAX = 64, LOOK_INTENTS_MAX = 32 };

struct look_holder {
    unsigned node;
    bool is_kept, is_current; /* it has what the main copy has, or that is on its way */
    uint64_t brought_ns;      /* ago */
};

struct key_look {
    uint64_t now_ns;
    unsigned owner; /* as far as we know; if that is us and the row is not here, it is on its way */
    uint64_t term;  /* of that ownership, which is how often the row has moved */
    bool is_here, is_replica;
    bool is_asking;    /* a sync of ours is not yet answered */
    bool is_kept;      /* an intent that never ends */
    unsigned wanted;   /* active intents that will end */
    uint64_t parked;   /* requests that wait here for the row */
    uint64_t heard_ns; /* of a replica: how long ago its owner was last heard of */
    unsigned holders, intents, decisions;
    unsigned more_holders; /* that do not fit below */
    bool has_more_intents; /* or there may be */
    struct look_holder holder[LOOK_HOLDERS_MAX];
    struct intent_found intent[LOOK_INTENTS_MAX];
    struct decision decision[DECISIONS_OF_KEY];
};

void shard_look(struct shard *, uint64_t index, struct key_look *);

#endif
