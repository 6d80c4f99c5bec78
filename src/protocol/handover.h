/*
 * handover.h - moving the main copy of a row, and its ownership, from node to node (Lapse, Section
 * 3.2).
 *
 *   origin                      owner                       home
 *   LOCALIZE {tag}  --->  (home or a hint forwards it)
 *                         takes the row out
 *   ROW {row, term+1}  <---
 *   puts it in                  LOCATION {term+1}  --->
 *
 * Three messages at most until the row is usable at the origin; two when the origin knew the owner.
 * From the row's departure to its arrival nobody serves the key, for the time of one message:
 * requests that come to the old owner follow the row on the same link, requests that come to the
 * new one are parked here, and served when it has arrived (dispatch.h).
 *
 * Callers   owner.c gives; dispatch.c puts and parks
 * Memory    the row is copied into the frame, and from the frame into a slot; or from a replica
 *           that is as good. Parked entries of at most what all nodes' credit holds
 * Waiting   never; but an arriving row that finds no slot, because more rows left during one read
 *           section than the table has keys, waits for that section's end
 * Life      none of its own
 */
#ifndef LOCUS_PROTOCOL_HANDOVER_H
#define LOCUS_PROTOCOL_HANDOVER_H

#include "protocol/state.h"

/* Gives a row that is here, and its ownership, to another node, as the answer to this entry: a
 * WIRE_LOCALIZE or WIRE_SYNC. What we remember of the key as its owner is over. `then`: the node's
 * replica is as good as the row was when its word was this one, and need not get the values; NULL:
 * it is not, or there is none. */
void handover_give(struct shard *, struct row_ref, const struct wire_entry *request,
                   const directory_word *then);

/* A row arrives: NULL, or what is wrong with it; puts it in. */
const char *handover_check(const struct shard *, const struct wire_entry *);
void handover_put(struct shard *, struct row_ref, const struct wire_entry *);

/* An entry from `peer` waits for its row, which is on its way here. NULL, or why it cannot. */
const char *handover_park(struct shard *, unsigned peer, const struct wire_entry *);
/* Takes out what waits for the key's row, in order; each is to be freed. */
struct parked *handover_unpark(struct shard *, struct record *);

#endif
