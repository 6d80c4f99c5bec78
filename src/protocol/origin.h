/*
 * origin.h - what this node's workers ask of other nodes: pull, push, set and localize.
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

/* Is it a request of ours that has come back, its answer, or a row for a localize of ours? NULL, or
 * what is wrong with it. */
const char *origin_check(const struct shard *, const struct wire_entry *);
/* The owner's answer. Returns NULL, or what is wrong with it. */
const char *origin_answer(struct shard *, const struct arrival *);
/* A request of ours has come back, and the row is here: serves it. */
void origin_came_back(struct shard *, const struct wire_entry *, struct row_ref);
/* The row that answers a localize has been stored. */
void origin_row_is_here(struct shard *, const struct arrival *);

/* A node was lost (repair.h). A repair begins: nobody has said yet that he has a request of ours;
 * a node that lives has this one; the lost one had done these writes. What none has and is not done
 * is asked again. */
void origin_repairs(struct shard *);
const char *origin_held(struct shard *, const struct wire_entry *);
const char *origin_told(struct shard *, const struct wire_entry *);
void origin_ask_again(struct shard *);

/* For replica.h. The replica now has what was written at the owner: requests that waited for that
 * are done. */
void origin_seen(struct shard *, struct record *);
/* For the item that sets a replica: its values; the owner has done it, or it is done here, because
 * the row is here now. */
void origin_set_value(const struct shard *, const struct record *, float *values);
void origin_set_done(struct shard *, struct record *, bool is_here);

#endif
