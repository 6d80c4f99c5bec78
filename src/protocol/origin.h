/*
 * origin.h - what this node's workers ask of other nodes: remote pull, push, set and localize at
 * the node that asks.
 *
 *   origin                      owner (owner.h)
 *   PULL {key, tag}      --->   reads the row into
 *        PULLED {key, tag, row}   <---
 *   PUSH {key, tag, update} ->  adds;       PUSHED {key, tag}   <---
 *   SET  {key, tag, row}  --->  overwrites; WAS_SET {key, tag}  <---
 *   LOCALIZE {key, tag}  --->   gives the row away: handover.h
 *
 * A request goes to the owner as far as the origin knows; a node that is not the owner passes it on
 * (location.h). The answer goes to the origin directly, and says which node is the owner.
 *
 * What one worker asks of one key takes effect in program order: a request waits here until what
 * the worker asked of the key before is answered, for on its way it may be forwarded to and fro
 * while the row moves, and be overtaken (Lapse, Theorem 3; README.md). While anything that this
 * node asked of a key is under way, others of its workers send only along the same way, and nothing
 * while the row is wanted here.
 *
 * Callers   dispatch.c, shard.c, step.c, replica.c
 * Memory    values are copied once: from the caller's array into the frame, from the frame into the
 *           array
 * Waiting   never
 * Life      none of its own
 */
#ifndef LOCUS_PROTOCOL_ORIGIN_H
#define LOCUS_PROTOCOL_ORIGIN_H

#include "protocol/state.h"

/* Takes item `i` on: serves it here, sends it, or lets it wait for others of its key. False: the
 * credit is used up. */
bool origin_take_on(struct shard *, struct request *, uint32_t i);

/* Goes on with what waits for the key, as far as it can. */
void origin_go_on(struct shard *, struct record *);
/* The records that waited for credit may go on. */
void origin_wake_stalled(struct shard *);

/* The owner's answer. NULL, or what is wrong with it. */
const char *origin_answer(struct shard *, unsigned peer, const struct wire_entry *);

/* A request in our own name has come back: is it one of ours? NULL, or what is wrong with it; and
 * then, the row is here, serves it. */
const char *origin_check_own(const struct shard *, const struct wire_entry *);
void origin_came_back(struct shard *, const struct wire_entry *, struct row_ref);

/* A row that answers a localize: is that what we asked? NULL, or what is wrong with it; and then,
 * when it is here. */
const char *origin_check_row(const struct shard *, const struct wire_entry *);
void origin_row_is_here(struct shard *, const struct wire_entry *);

/* For replica.h. The replica has what was written at the owner: requests that waited for it are
 * done. */
void origin_seen(struct shard *, struct record *);
/* What waits for the key needs its row, for the replica here is too old (sources.h). */
bool origin_needs_row(const struct shard *, const struct record *, struct row_ref);
/* The item that sets a replica: its values; it is done, by way of the owner; it is done here, where
 * the row is now. */
void origin_set_value(const struct shard *, const struct record *, float *values);
void origin_set_done(struct shard *, struct record *);
void origin_set_here(struct shard *, struct record *);

#endif
