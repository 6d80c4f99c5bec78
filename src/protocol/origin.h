/*
 * access.h - remote pull, push, set and localize: what the origin asks, what the owner does, what the origin makes of
 * the answer.
 *
 *   origin                      owner
 *   PULL {key, tag}      --->   reads the row into
 *        PULLED {key, tag, row}   <---
 *   PUSH {key, tag, update} ->  adds;       PUSHED {key, tag}   <---
 *   SET  {key, tag, row}  --->  overwrites; WAS_SET {key, tag}  <---
 *   LOCALIZE {key, tag}  --->   gives the row away: relocation.h
 *
 * A request goes to the owner as far as the origin knows; who gets it and is not the owner passes it on (location.h). The
 * answer goes to the origin directly, and says who the owner is.
 *
 * What one worker asks of one key takes effect in program order: a request waits here until what the worker asked of the
 * key before is answered, for on its way it may be forwarded to and fro while the row moves, and be overtaken (Lapse,
 * Theorem 3; README.md). While anything that this node asked of a key is under way, others of its workers send only
 * along the same way, and nothing while the row is wanted here.
 *
 * Callers   shard.c, entries.c, relocation.c
 * Memory    values are copied once: from the caller's array into the frame, from the frame into the row; and back
 * Waiting   never
 * Life      none of its own
 */
#ifndef LOCUS_PROTOCOL_ORIGIN_H
#define LOCUS_PROTOCOL_ORIGIN_H

#include "protocol/shard.h"

/* Takes item `i` on: serves it here, sends it, or lets it wait for others of its key. False: the window is used up. */
bool access_take_on(struct shard *, struct request *, uint32_t i);

/* An entry that asks for something, from `peer`: serves it here, or passes it on. NULL, or what is wrong with it. */
const char *access_serve(struct shard *, unsigned peer, const struct wire_entry *);
/* At the origin. NULL, or what is wrong with it. */
const char *access_answer(struct shard *, unsigned peer, const struct wire_entry *);

/* A row that answers a localize: is that what we asked? NULL, or what is wrong with it; and then, when it is here. */
const char *access_check_row(const struct shard *, const struct wire_entry *);
void access_row_is_here(struct shard *, const struct wire_entry *);

/* The replica has what was written at the owner: those are done that waited for it. */
void access_seen(struct shard *, struct record *);
/* The item that sets a replica: its values; it is done, by way of the owner; it is done here, where the row is now. */
void access_set_value(const struct shard *, const struct record *, float *values);
void access_set_done(struct shard *, struct record *);
void access_set_here(struct shard *, struct record *);

/* The record may have nothing more to wait for: lets go on what can, gives the record back when it is empty. */
void record_settle(struct shard *, struct record *);
/* The same for the records that waited for a window. */
void access_go_on(struct shard *);

#endif
