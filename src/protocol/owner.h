/*
 * owner.h - the decision actor at the owner of a row: whether the row moves to a node or is replicated there, and keeping
 * the replicas up to date (AdaPM, Section 4.1 and Appendix B.1; README.md).
 *
 *   intent at one other node only     the row moves there
 *   intent at several                 whoever has it holds a replica, for as long
 *   the last intent ends              the row stays where it is
 *
 * The owner's own intent counts like any node's. The row never leaves while another node holds a replica: when one last
 * holder is left, and nobody here wants the row, the holder is poked, and the row goes to it as the answer to its next
 * entry, which carries what the holder has added. The holder's own updates meanwhile stay on top of what arrives; a replica
 * that is as good as the row becomes the row.
 *
 * Who holds a replica, and which version it was sent last, is in the key's record. A version belongs to the main copy and
 * rises when a look finds it changed. Without holders there is none; it begins anew with the next one. That is safe because
 * what a former holder was told came on the link that brings it the answer with the new one, and before it.
 *
 * Callers   shard.c, rounds.c, entries.c, access.c, relocation.c
 * Memory    16 bytes a holder, in the record
 * Waiting   as relocation.h
 * Life      none of its own
 */
#ifndef LOCUS_PROTOCOL_OWNER_H
#define LOCUS_PROTOCOL_OWNER_H

#include "protocol/shard.h"

/* An entry (WIRE_ENTRY) from `peer`, maybe on behalf of another node. NULL, or what is wrong with it. */
const char *owner_entry(struct shard *, unsigned peer, const struct wire_entry *);

/* Fetches who holds replicas, for a look soon; the record has arrived. */
void owner_fetch(const struct shard *, uint64_t index);

/* The version of the main copy, whose holders `record` has. */
uint64_t owner_version(struct record *, struct spot);
struct holder *owner_holder(const struct record *, unsigned node); /* NULL: it holds none */

/* Our own intent, or who holds replicas, has changed: is it time that the row leaves? */
void owner_consider(struct shard *, struct record *);
/* A round to the node begins: tells it, if it still is so. Many may follow from one moment, and rounds bound what a link
 * has to queue. */
bool owner_poke(struct shard *, struct record *, unsigned node);
/* May the row leave, because another node asks for it: nobody else wants it? */
bool owner_lets_go(const struct shard *, uint64_t index);

/* The main copy's key was marked: queues a refresh for whoever has not got the last version. */
void owner_changed(struct shard *, struct record *);
/* Writes a refresh for the node into its frame. Returns its bytes, 0: it needs none. */
size_t owner_refresh(struct shard *, struct record *, unsigned node);

#endif
