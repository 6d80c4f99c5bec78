/*
 * owner.h - the decision actor at the owner of a row: whether the row moves to a node or is
 * replicated there, and keeping the replicas up to date (AdaPM, Section 4.1 and Appendix B.1;
 * README.md).
 *
 * intent at one other node only the row moves there intent at several each of them holds a replica,
 * for as long the last intent ends the row stays where it is
 *
 * The owner's own intent counts like any node's. The row never leaves while another node holds a
 * replica: when one last holder is left, and nobody here wants the row, the holder is recalled, and
 * the row goes to it as the answer to its next entry, which carries what the holder has added. The
 * holder's own updates meanwhile stay on top of what arrives; a replica that is as good as the row
 * becomes the row.
 *
 * Who holds a replica, and which version it was sent last: holders.h.
 *
 * Callers   dispatch.c, step.c, round.c
 * Memory    holders.h
 * Waiting   as handover.h
 * Life      none of its own
 */
#ifndef LOCUS_PROTOCOL_OWNER_H
#define LOCUS_PROTOCOL_OWNER_H

#include "protocol/state.h"

/* Checks an entry about a replica or an intent (WIRE_SYNC), maybe on behalf of another node; then,
 * where the row is here, serves it. NULL, or what is wrong with it. */
const char *owner_check(const struct shard *, const struct wire_entry *, struct row_ref);
const char *owner_sync(struct shard *, const struct wire_entry *, struct row_ref);

/* A request of another node, to access or to localize a row that is here. */
void owner_serve(struct shard *, const struct wire_entry *, struct row_ref);

/* Our own intent, or who holds replicas, has changed: is it time that the row leaves? */
void owner_consider(struct shard *, struct record *);
/* A round to the node begins: recalls its replica, if that is still due. Many recalls may become
 * due at once, and rounds bound what a link has to queue. */
bool owner_recall(struct shard *, struct record *, unsigned node);

/* The main copy's key was marked: queues a refresh for whoever has not got the last version. */
void owner_changed(struct shard *, struct record *);
/* Writes a refresh for the node into its frame. Returns its bytes, 0: it needs none. */
size_t owner_refresh(struct shard *, struct record *, unsigned node);

#endif
