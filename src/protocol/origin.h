/*
 * origin.h - what this node's workers ask of other nodes: the requesting side of remote pull, push,
 * set and localize.
 *
 *   origin                      owner (owner.h)
 *   PULL {key, tag}      --->   reads the row into
 *        PULLED {key, tag, row}   <---
 *   PUSH {key, tag, update} ->  adds;       PUSHED {key, tag}   <---
 *   SET  {key, tag, row}  --->  overwrites; WAS_SET {key, tag}  <---
 *   LOCALIZE {key, tag}  --->   gives the row away
 *
 * A request goes to the owner that the origin knows. A node that is not the owner forwards it
 * (dispatch.h). The answer goes directly to the origin, and says which node is the owner.
 *
 * Requests of one worker for one key take effect in program order: a request waits here until the
 * worker's earlier requests for the key are answered. Otherwise it could overtake them, because
 * requests may be forwarded to and fro while the row moves (Lapse, Theorem 3; README.md). While any
 * request of this node for a key is under way, other workers of the node send only to the same
 * peer, and nothing while the row itself has been asked for.
 *
 * Memory    values are copied once: from the caller's array into the frame, from the frame into the
 *           array
 * Waiting   never
 * Life      none of its own
 */
#ifndef LOCUS_PROTOCOL_ORIGIN_H
#define LOCUS_PROTOCOL_ORIGIN_H

#include "protocol/shard.h"

/* Takes item `i` on: serves it here, sends it, or lets it wait for other requests for its key.
 * False: the credit is used up. */
bool origin_take_on(struct shard *, struct request *, uint32_t i);

/* Continues with the requests that wait for the key, as far as possible. */
void origin_go_on(struct shard *, struct record *);
/* The records that waited for credit may go on. */
void origin_wake_stalled(struct shard *);

/* The owner's answer. Returns NULL, or what is wrong with it. */
const char *origin_answer(struct shard *, const struct arrival *);

/* A request in our own name has come back. check: is it one of ours? NULL, or what is wrong with
 * it. came_back: the row is here; serves the request. */
const char *origin_check_own(const struct shard *, const struct wire_entry *);
void origin_came_back(struct shard *, const struct wire_entry *, struct row_ref);

/* A row answers a localize. check: did we ask for it? NULL, or what is wrong with it. is_here: the
 * row has been stored. */
const char *origin_check_row(const struct shard *, const struct wire_entry *);
void origin_row_is_here(struct shard *, const struct arrival *);

/* For replica.h. The replica now has what was written at the owner: requests that waited for that
 * are done. */
void origin_seen(struct shard *, struct record *);
/* For the item that sets a replica: its values; the owner has done it, or it is done here, because
 * the row is here now. */
void origin_set_value(const struct shard *, const struct record *, float *values);
void origin_set_done(struct shard *, struct record *, bool is_here);

#endif
