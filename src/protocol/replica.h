/*
 * replica.h - the side of a node that wants a row or holds a replica: what it tells the owner, and
 * what follows from the owner's answers. The other side is owner.h; round.h decides when messages
 * are sent (AdaPM, Appendix B.2; README.md).
 *
 * A key has at most one sync under way (record.h). Most of what the next one must say follows from
 * the state: the count of intents, the replica's updates, and what the owner knows (`registered`).
 * Only a recall, a set, and a wish for the row itself are stored.
 *
 * If a worker waits because the replica lacks what the worker has pushed to the owner, the row is
 * asked for at once.
 *
 * If the owner has added nothing but the replica's own updates, it says so and does not send the
 * row back. The two may then differ by rounding, because the owner added what the replica had
 * gained. So before the end of quiesce such replicas ask for the row, unless they have become the
 * row themselves.
 *
 * Memory    a bit a key, 16 bytes a node
 * Waiting   never, except for memory as dispatch.h says
 * Life      replica_init, any use, replica_fini
 */
#ifndef LOCUS_PROTOCOL_REPLICA_H
#define LOCUS_PROTOCOL_REPLICA_H

#include "base/sets.h"
#include "intents/intents.h"
#include "protocol/shard.h"
#include "protocol/backlog.h"

/* A node from which replicas here are. */
struct source {
    uint64_t heard_ns; /* the last frame or heartbeat, or when the first replica came */
    uint64_t replicas;
};

struct replicas {
    struct source *source; /* [nodes] */
    uint64_t awaited;      /* records for which quiesce must wait: is_awaited or is_later */
    uint64_t rows_wanted;  /* records whose next sync asks for the row */
    uint64_t orphans;      /* replicas that no owner counts, because theirs was lost */
    float *taken;          /* updates on their way into a frame: of the longest record */
    struct bitset inexact; /* that may differ from the main copy, because floats are rounded */
};

int replica_init(struct shard *); /* 0 or -ENOMEM */
void replica_fini(struct shard *);

/* A frame or heartbeat arrived from the node: counts how old its replicas had become. Called before
 * the frame is served. */
void replica_heard(struct shard *, unsigned node);

/* For intents.h: the key, whose state was fetched, will be looked at very soon; its count of
 * intents rises, falls. */
void replica_fetch_found(const struct shard *, uint64_t index);
void replica_want(struct shard *, const struct intent_event *);
void replica_unwant(struct shard *, uint64_t index);
/* The node wants the key for ever; no longer for ever. */
void replica_keep(struct shard *, const struct intent_event *);
void replica_unkeep(struct shard *, uint64_t index);

/* The replica has updates that were not yet looked at. */
void replica_changed(struct shard *, struct record *, unsigned owner);
/* The owner may have to be told something about the key. */
void replica_consider(struct shard *, struct record *);

/* Writes the key's sync into the frame to `peer`, if there is something to say and the peer is the
 * owner. Returns the bytes of the sync and its answer; 0: nothing was written. */
size_t replica_emit(struct shard *, struct record *, unsigned peer, enum backlog_class);
/* The bytes of a sync with `length` floats and its answer, which may bring the row whatever was
 * asked. */
static inline size_t replica_exchange_bytes(uint32_t length, uint32_t row_length)
{
    return wire_entry_bytes(length) + wire_entry_bytes(row_length);
}

/* Our sync came back to us, or its answer arrived with the row. */
void replica_came_back(struct shard *, struct record *);
/* A row answers a sync: did we ask, and if it says that our replica is the row, is there one? NULL,
 * or what is wrong with it. */
const char *replica_check_row(const struct shard *, const struct arrival *);
/* The row itself is here now, and the replica has ended. `answers`: the row answers our sync. */
void replica_row_is_here(struct shard *, struct record *, bool answers);

/* From owners. They return NULL, or what is wrong with the message. */
const char *replica_answer(struct shard *, const struct arrival *);
const char *replica_refresh(struct shard *, const struct arrival *);
const char *replica_recall(struct shard *, const struct arrival *);

/* A node was lost (repair.h). A node that lives has our sync of the key; nobody has that of the
 * record. */
const char *replica_held(struct shard *, uint64_t index);
void replica_sync_is_lost(struct shard *, struct record *);
/* The owner of its replica was lost: the key's new home leads to the next one, which counts us when
 * it has heard of us. The replica keeps what nobody was told. */
void replica_is_orphaned(struct shard *, struct record *, unsigned home);
/* It counts as the replica of this owner from now on, if there is one. */
void replica_comes_from(struct shard *, struct record *, unsigned owner);

/* For quiesce. are_exact: if no sync is awaited, and main copies are final: does no replica lack
 * anything or differ by rounding? ask: those that may differ ask for the row; if a sync of the key
 * is under way, this and the following ones ask when it is answered. */
bool replica_are_exact(const struct shard *);
void replica_ask_for_inexact(struct shard *);

#endif
