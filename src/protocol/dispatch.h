/*
 * dispatch.h - checks the entries of a peer by the rules of their operations (wire.h), and passes
 * each to the role that serves it.
 *
 * A request or a sync is for the owner of its key. A node that is not the owner forwards it, or
 * parks it if the row is on its way to this node. An entry may come back to its sender because the
 * row has moved there meanwhile: then the role that sent it serves it. When a row arrives, those
 * that waited for it are served in this order: the replica, localize requests, parked entries. If a
 * parked entry turns out to be wrong, the link of the peer that sent it fails, with its next frame.
 *
 * Memory    parked entries: at most the credit of all nodes, and a quarter of the memory. A row is
 *           copied from the frame, or from an equal replica, into a slot
 * Waiting   never, with one exception: an arriving row may find no slot, because more rows left
 *           during one read section than the table has keys; then it waits for the end of that
 *           section
 * Life      none of its own
 */
#ifndef LOCUS_PROTOCOL_DISPATCH_H
#define LOCUS_PROTOCOL_DISPATCH_H

#include "protocol/shard.h"

/* Serves the entries of a frame. NULL, or what is wrong with one, in the words of wire.h. */
const char *dispatch(struct shard *, unsigned peer, struct wire_cursor *);

/* Drops what nodes that are no members any more have parked with the key. */
void parked_drop(struct shard *, struct record *);
/* Serves what is parked with the key, or passes it on, when a repair is over: what the entries say
 * of owners is of the time before. */
void parked_serve_anew(struct shard *, struct record *);

#endif
