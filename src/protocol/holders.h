/*
 * holders.h - who holds replicas of a row that is here, and the version of its main copy. In the
 * key's record.
 *
 * A version belongs to the main copy and rises when a look finds it changed. Without holders there
 * is none; it begins anew with the next one. That is safe: what a former holder was told came on
 * the same link as the answer with the new version, and before it.
 *
 * Callers   owner.c, round.c, shard.c
 * Memory    16 bytes a holder, in the record
 * Waiting   never
 * Life      the record's
 */
#ifndef LOCUS_PROTOCOL_HOLDERS_H
#define LOCUS_PROTOCOL_HOLDERS_H

#include "protocol/state.h"

/* NULL: it holds none. */
struct holder *holder_find(const struct record *, unsigned node);
/* The one that is there, or a new one, which has seen nothing. */
struct holder *holders_add(struct record *, struct row_ref, unsigned node);
void holders_remove(struct record *, struct row_ref, unsigned node);
/* Full replication: everybody is a holder from the start, of zeros with version 0. */
void holders_add_all(struct shard *, struct record *, struct row_ref);
/* Fetches them for a look soon; the record has arrived. */
void holders_fetch(const struct shard *, uint64_t index);

/* The word is that of the main copy: has it changed since the last look? */
void holders_note_word(struct record *, directory_word);
/* The version of the main copy. */
uint64_t holders_version(struct record *, struct row_ref);

#endif
