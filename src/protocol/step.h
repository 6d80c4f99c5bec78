/*
 * step.h - the one place that considers a key after something happened to it.
 *
 * Roles do not call each other for that: they wake the key (shard_wake), and here each role that
 * was woken for it looks at it, in a fixed order: the owner (may the row leave?), the replica (must
 * its owner hear something?), the origin (may requests that wait go on?). A role may wake the key,
 * or others, once more. A record that has nothing more to remember is given back.
 *
 * Callers   dispatch.c, round.c, shard.c: after each entry, request, intent
 * Memory    the list is in the records
 * Waiting   never
 * Life      none of its own
 */
#ifndef LOCUS_PROTOCOL_STEP_H
#define LOCUS_PROTOCOL_STEP_H

#include "protocol/state.h"

void step_woken(struct shard *);

/* Considers the keys that were woken, until there are none. */
static inline void step(struct shard *s)
{
    if (s->woken_first) step_woken(s);
}

#endif
