/*
 * replica.h - what this node says to the owner of a key, and what follows from the owner's answers:
 * the side of the node that wants a row or holds a replica. The owner's is owner.h; when something
 * is said, round.h (AdaPM, Appendix B.2; README.md).
 *
 * A key has at most one entry under way (its `in_flight`); whatever happens meanwhile is aggregated
 * into the next one. What is to be said is mostly not remembered but seen: in the count of intents,
 * the replica's updates, and what the owner was told (`registered`). Remembered are a recall, a
 * set, and that the row itself is wanted (record.h).
 *
 * If a worker waits for a replica, because it lacks what the worker has pushed to the owner or
 * because its owner was silent for too long (sources.h), the row is asked for at once.
 *
 * An owner that had added nothing but a replica's own updates says so, and does not send the row
 * back. As floats the two may differ by then, for the owner added the updates' sum: so before
 * quiesce is over such replicas ask for the row, unless they have become the row themselves.
 *
 * Callers   dispatch.c, step.c, round.c; intents.c through shard.c
 * Memory    a bit a key
 * Waiting   never, but for memory as handover.h says
 * Life      replica_init, any use, replica_fini
 */
#ifndef LOCUS_PROTOCOL_REPLICA_H
#define LOCUS_PROTOCOL_REPLICA_H

#include "protocol/backlog.h"
#include "store/bitset.h"

struct replicas {
    uint64_t awaited;     /* records that quiesce must wait for: is_awaited, or is_later */
    uint64_t rows_wanted; /* records whose next entry asks for the row */
    /* replicas whose last updates the owner has added up in another order: floats may differ */
    struct bitset rounded;
};

int replica_init(struct shard *); /* 0 or -ENOMEM */
void replica_fini(struct shard *);

/* For intents.h: something about the key comes soon, very soon; the node wants it once more, once
 * less. */
void replica_fetch(const struct shard *, uint64_t index);
void replica_fetch_found(const struct shard *, uint64_t index);
void replica_want(struct shard *, uint64_t index);
void replica_unwant(struct shard *, uint64_t index);
/* It wants the key for ever; no longer for ever. */
void replica_keep(struct shard *, uint64_t index);
void replica_unkeep(struct shard *, uint64_t index);

/* The replica has updates that nobody has looked at. */
void replica_changed(struct shard *, struct record *, unsigned owner);
/* Something about the key may have to be said. */
void replica_consider(struct shard *, struct record *);

/* Writes the key's entry into the frame to its owner, if there is something to say and that is the
 * peer. Returns the bytes that it and its answer take, 0: nothing was said. */
size_t replica_emit(struct shard *, struct record *, unsigned peer, enum backlog_class);
/* What an entry of so many floats and its answer take, which may bring the row whatever was
 * asked. */
size_t replica_exchange_bytes(uint32_t length, uint32_t row_length);

/* Our entry came back to us, or its answer arrived with the row. */
void replica_came_back(struct shard *, struct record *);
/* A row that answers an entry: have we asked, and is it our replica, if it says so? NULL, or what
 * is wrong with it. */
const char *replica_check_row(const struct shard *, const struct wire_entry *);
/* The row itself is here now: what a replica was is over. `answers`: it answers our entry. */
void replica_row_is_here(struct shard *, struct record *, bool answers);

/* From owners. NULL, or what is wrong with it. */
const char *replica_answer(struct shard *, const struct wire_entry *);
const char *replica_refresh(struct shard *, unsigned peer, const struct wire_entry *);
const char *replica_recall(struct shard *, const struct wire_entry *);

/* For quiesce: is everything answered that must be? If so, and main copies are final: is no replica
 * known to lack anything, or to differ by rounding? Those that may differ ask for the row; where an
 * entry of the key is under way, it and those behind it when it is answered. */
bool replica_are_answered(const struct shard *);
bool replica_replicas_are_exact(const struct shard *);
void replica_ask_for_rounded(struct shard *);

#endif
