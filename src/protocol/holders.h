/*
 * holders.h - which nodes hold replicas of a row that is here, and the version of its main copy.
 * Both are in the key's record.
 *
 * The version belongs to the main copy; it rises when a look finds that the row has changed.
 * Without holders there is no version; it begins anew with the next holder. That is safe: whatever
 * a former holder was sent came on the same link as the answer with the new version, and before it.
 *
 * Memory    16 bytes a holder, in the record
 * Waiting   never
 * Life      the record's
 */
#ifndef LOCUS_PROTOCOL_HOLDERS_H
#define LOCUS_PROTOCOL_HOLDERS_H

#include "protocol/shard.h"

/* NULL: the node holds no replica. */
struct holder *holder_find(const struct record *, unsigned node);
/* The node's entry, or a new one, which has seen no version. */
struct holder *holders_add(struct record *, struct row_ref, unsigned node);
void holders_remove(struct record *, struct row_ref, unsigned node);
/* Full replication: every node is a holder from the start, of zeros with version 0. */
void holders_add_all(struct shard *, struct record *, struct row_ref);
/* Prefetches the holders for a look soon; the record is in the cache already. */
void holders_fetch(const struct shard *, uint64_t index);

/* `word` is the main copy's: has it changed since the last look? */
void holders_note_word(struct record *, directory_word);
/* The version of the main copy. */
uint64_t holders_version(struct record *, struct row_ref);

#endif
