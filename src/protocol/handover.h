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
 * It takes at most three messages until the row is usable at the origin, and two if the origin knew
 * the owner. Between the row's departure and its arrival, for the time of one message, no node
 * serves the key. Requests that reach the old owner meanwhile follow the row on the same link.
 * Requests that reach the new owner are parked here and served when the row has arrived
 * (dispatch.h).
 *
 * Memory    the row is copied into the frame, and from the frame, or from an equal replica, into a
 *           slot. Parked entries take at most the credit of all nodes
 * Waiting   never, with one exception: an arriving row may find no slot, because more rows left
 *           during one read section than the table has keys; then it waits for the end of that
 *           section
 * Life      none of its own
 */
#ifndef LOCUS_PROTOCOL_HANDOVER_H
#define LOCUS_PROTOCOL_HANDOVER_H

#include "protocol/arrival.h"

/* Gives a row that is here, and its ownership, to another node, as the answer to `request`: a
 * WIRE_LOCALIZE or WIRE_SYNC. We forget what we knew of the key as its owner. `then`: the node's
 * replica equals the row as it was when its directory word was this one; if the word is still the
 * same, the values are not sent. NULL: the replica is different, or there is none. */
void handover_give(struct shard *, struct row_ref, const struct wire_entry *request,
                   const directory_word *then);

/* A row arrives. check: NULL, or what is wrong with it. put: stores it. */
const char *handover_check(const struct shard *, const struct arrival *);
void handover_put(struct shard *, struct row_ref, const struct wire_entry *);

/* Parks an entry whose row is on its way here. Returns NULL, or why it cannot. */
const char *handover_park(struct shard *, const struct arrival *);
/* Takes out the entries that wait for the key's row, in order; the caller frees each of them. */
struct parked *handover_unpark(struct shard *, struct record *);

#endif
