/*
 * dispatch.h - an entry of a peer goes to the role that it is for.
 *
 * A request, or news of an intent or replica, is for the owner of its key. A node that is not the
 * owner passes it on, or parks it while the row is on its way there. An entry that comes back to
 * its sender, because the row has come there meanwhile, is served by the role that sent it. A row
 * that arrives ends what the key was waiting for, in this order: replica, localize, what was
 * parked.
 *
 * Callers   shard.c, on the shard's thread
 * Memory    none of its own
 * Waiting   never, but for memory as handover.h says
 * Life      none of its own
 */
#ifndef LOCUS_PROTOCOL_DISPATCH_H
#define LOCUS_PROTOCOL_DISPATCH_H

#include "protocol/state.h"

/* Serves the entry. NULL, or what is wrong with it, in the words of wire.h. */
const char *dispatch(struct shard *, unsigned peer, const struct wire_entry *);

#endif
