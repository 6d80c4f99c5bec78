/*
 * dispatch.h - passes each entry from a peer to the role that serves it.
 *
 * A request or a sync is for the owner of its key. A node that is not the owner forwards it, or
 * parks it if the row is on its way to this node. An entry may come back to its sender because the
 * row has moved there meanwhile: then the role that sent it serves it. When a row arrives, those
 * that waited for it are served in this order: the replica, localize requests, parked entries. If a
 * parked entry turns out to be wrong, the link of the peer that sent it fails, with its next frame.
 *
 * Memory    none of its own
 * Waiting   never, but for memory as handover.h says
 * Life      none of its own
 */
#ifndef LOCUS_PROTOCOL_DISPATCH_H
#define LOCUS_PROTOCOL_DISPATCH_H

#include "protocol/arrival.h"

/* Serves the entry. NULL, or what is wrong with it, in the words of wire.h. */
const char *dispatch(struct shard *, const struct arrival *);

#endif
