/*
 * arrival.h - an entry that has come from a peer, checked by the rules of its operation (wire.h),
 * with the place of its row, which is found once.
 *
 * Memory    the frame's, or of an entry that was parked
 * Waiting   never
 * Life      until the entry has been served
 */
#ifndef LOCUS_PROTOCOL_ARRIVAL_H
#define LOCUS_PROTOCOL_ARRIVAL_H

#include "protocol/shard.h"

struct arrival {
    const struct wire_entry *entry;
    struct row_ref ref; /* {0}: of WIRE_OF_SHARD */
    unsigned peer;
};

enum { ARRIVALS_AHEAD = 32 }; /* fetched together before the first is served */

/* The next entries of a frame, checked and fetched. Returns how many; fewer than ARRIVALS_AHEAD:
 * the frame ends, or *why says what is wrong with the one behind them. */
unsigned arrivals_next(const struct shard *, unsigned peer, struct wire_cursor *,
                       struct arrival arrived[ARRIVALS_AHEAD], const char **why);

static inline const struct wire_rule *arrival_rule(const struct arrival *a)
{
    return &wire_rules[a->entry->operation];
}

/* Will it read or write the row? */
static inline bool arrival_touches_row(const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    if (arrival_rule(a)->route == WIRE_REQUEST) return true;
    return e->encoding == WIRE_AS_REPLICA || (e->length > 0 && e->operation != WIRE_PULLED);
}

#endif
