/*
 * woken.h - the one place that considers a key after something happened to it.
 *
 * Roles do not call each other for that. They wake the key (shard_wake), and here the roles that
 * were woken consider it in a fixed order: the owner (may the row leave?), the replica (must the
 * owner be told something?), the origin (may waiting requests go on?). A role may wake this key or
 * others again. A record with nothing left to remember is released.
 *
 * Memory    the list is in the records
 * Waiting   never
 * Life      none of its own
 */
#ifndef LOCUS_PROTOCOL_WOKEN_H
#define LOCUS_PROTOCOL_WOKEN_H

#include "protocol/shard.h"

void woken_consider_all(struct shard *);

/* Considers the keys that were woken, until there are none. */
static inline void woken_consider(struct shard *s)
{
    if (s->woken_first) woken_consider_all(s);
}

#endif
