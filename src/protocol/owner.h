/*
 * owner.h - the owner's side of a row: decides whether the row moves to a node or is replicated
 * there, and keeps the replicas up to date (AdaPM, Section 4.1 and Appendix B.1; README.md).
 *
 *   one other node intends the row    the row moves there
 *   several nodes intend it           each of them holds a replica while it does
 *   the last intent ends              the row stays where it is
 *
 * The owner's own intent counts like that of any node. The row never leaves while another node
 * holds a replica. When only one holder is left, and this node does not want the row, the owner
 * recalls the replica: the holder sends a sync with what it has added, and the row is the answer.
 * Updates that the holder makes meanwhile are added to the row that arrives. If the replica equals
 * the row, it becomes the row, and no values are sent.
 *
 * A row that leaves is copied into the frame, with its ownership and the next term.
 *
 * Memory    16 bytes a holder, in the key's record
 * Waiting   as dispatch.h
 * Life      none of its own
 */
#ifndef LOCUS_PROTOCOL_OWNER_H
#define LOCUS_PROTOCOL_OWNER_H

#include "protocol/shard.h"

/* Serves a WIRE_SYNC whose row is here. Returns NULL, or what is wrong with it. */
const char *owner_sync(struct shard *, const struct wire_entry *, struct row_ref);

/* Serves a request of another node to access or localize a row that is here. */
void owner_serve(struct shard *, const struct wire_entry *, struct row_ref);

/* A repair: tells the key's home to be that its row is here, with a term of this change; and that of
 * the key i + 1 behind it, which has the same home, for each bit i of `more`. If nobody was lost the
 * home that the key had knows who has it. */
void owner_claim(struct shard *, struct row_ref, uint64_t more);

/* Our own intent or the set of holders has changed: must the row leave now? */
void owner_consider(struct shard *, struct record *);
/* A round to the node begins: recalls its replica if that is still due. Recalls wait for rounds
 * because many may become due at once, and rounds limit what a link must queue. */
bool owner_recall(struct shard *, struct record *, unsigned node);

/* The main copy was in the dirty set: queues a refresh for each holder that does not have the last
 * version. */
void owner_changed(struct shard *, struct record *);
/* Writes a refresh for the node into its frame. Returns its bytes; 0: the node needs none. */
size_t owner_refresh(struct shard *, struct record *, unsigned node);

/* ---- which nodes hold replicas of a row that is here ---- */

/* NULL: the node holds no replica. */
struct holder *holder_find(const struct record *, unsigned node);
/* The node's entry, or a new one, which has seen no version. */
struct holder *holders_add(struct record *, struct row_ref, unsigned node);
void holders_remove(struct record *, struct row_ref, unsigned node);
/* The version of the main copy: it rises when the row is found to have changed. Without holders
 * there is none; it begins anew with the next holder. That is safe: whatever a former holder was
 * sent came on the same link as the answer with the new version, and before it. */
uint64_t holders_version(struct record *, struct row_ref);

#endif
