/*
 * look.h - what a shard knows of one key, for `locus explain`: where the main copy is, which nodes
 * hold replicas, whether this node intends it. What happened to it is in events.h.
 *
 * Callers   the shard's thread. A look changes nothing
 * Memory    the caller's
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_PROTOCOL_LOOK_H
#define LOCUS_PROTOCOL_LOOK_H

#include "protocol/shard.h"

enum { LOOK_HOLDERS_MAX = 64 };

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
    bool is_asking;                 /* a sync of ours is not yet answered */
    bool is_kept;                   /* an intent that never ends */
    unsigned wanted;                /* active intents that will end */
    uint64_t parked;                /* requests that wait here for the row */
    uint64_t heard_ns;              /* of a replica: how long ago its owner was last heard of */
    unsigned holders, more_holders; /* `more` do not fit below */
    struct look_holder holder[LOOK_HOLDERS_MAX];
};

void shard_look(struct shard *, uint64_t index, struct key_look *);

#endif
