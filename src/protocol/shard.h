/*
 * shard.h - the actor that is responsible for one part of the key space on this node, and speaks
 * with the same shard of the other nodes.
 *
 * Two sides meet in it. As origin it sends the requests of this node's workers to the owners of the
 * keys and brings the answers back; as owner it serves what the shards of other nodes ask, and
 * decides where rows are (owner.h). For every peer it keeps what it has asked, and what the answers
 * will need, below credit, so that a slow peer slows its askers and no queue grows: whatever is
 * forwarded or parked on the way counts in its origin's credit.
 *
 * Callers   one thread: the reactor's, or the simulation's
 * Memory    its own; 8 bytes a possible request of each worker; record.h
 * Waiting   never: shard_serve says that the credit is used up (handover.h names the exception)
 * Life      shard_init, turns, shard_fail when a peer was lost (then every request fails),
 *           shard_fini
 */
#ifndef LOCUS_PROTOCOL_SHARD_H
#define LOCUS_PROTOCOL_SHARD_H

#include "protocol/state.h"

struct shard_config {
    struct store *store;
    const struct platform *platform;
    enum locus_technique technique;
    unsigned number, workers;
    size_t credit_bytes;
    bool acts_immediately;
    bool remembers;                 /* what it decides: decisions.h */
    bool has_own_core;              /* its thread: no worker waits for the time that it takes */
    unsigned max_rounds_per_second; /* 0: the pacer alone decides */
    uint64_t staleness_ns;          /* sources.h; 0: no bound */
    /* processor time of the platform for a round, at each end: a frame out, one in */
    uint64_t round_ns;
    uint64_t kib_ns;                 /* the same for a KiB of it */
    const locus_clock *const *clock; /* [workers]; NULL: there are no intents */
    uint64_t *node_keys;             /* keys of waiting intents, of the whole node */
    /* [workers] how far each is, and what it has posted to each shard (clocks.h); or NULL */
    const locus_clock *const *progress;
    const uint64_t *const *posted;
};

/* 0 or -ENOMEM. */
int shard_init(struct shard *, const struct shard_config *);
void shard_fini(struct shard *);

/* Traces chosen keys from now on, if the environment says so (trace.h). 0, or a negative errno with
 * the sentence in locus_error(). Whoever opened it closes it: trace_close(shard->trace, ...).
 * `epoch_ns` is to be added to the shard's clock for nanoseconds since 1970. */
int shard_open_trace(struct shard *, int64_t epoch_ns);

/* Once a turn, after requests and frames. Returns when it wants to be called again without being
 * asked, UINT64_MAX: never. */
uint64_t shard_turn(struct shard *, uint64_t now_ns);

/* Takes a request on, or goes on with it: sends what the credit allows. True: all of it was taken
 * on (it will be completed, or has been); false: call again with the same request after the next
 * frame, and with no other of that worker before. */
bool shard_serve(struct shard *, struct request *);

/* An intent of this node becomes active, has expired: for this key. Turns do so with what workers
 * signal. */
void shard_begin_intent(struct shard *, uint64_t index);
void shard_end_intent(struct shard *, uint64_t index);
/* The same of one that never ends, and of taking it back. */
void shard_keep(struct shard *, uint64_t index);
void shard_unkeep(struct shard *, uint64_t index);

/* Is there anything that a turn would do? Asked before sleeping, after having announced it. */
bool shard_has_news(const struct shard *);

/* A frame of entries from `peer`. NULL, or what is wrong with it, in the words of wire.h; then its
 * link must fail. */
const char *shard_frame(struct shard *, unsigned peer, const struct wire_frame *, const void *body);

/* A heartbeat from `peer`: what it has not told us has not changed. */
void shard_heartbeat(struct shard *, unsigned peer);

/* A node was lost: completes all requests with rc, now and in future. */
void shard_fail(struct shard *, int rc);

/* Adds what was counted so far. Any thread. */
void shard_add_counters(const struct shard *, struct shard_counters *to);
void shard_add_histogram(const struct shard *, enum locus_histogram_kind,
                         struct locus_histogram *to);
void shard_add_rounds(const struct shard *, struct locus_histogram *to);
/* Of the credit to a peer, what is used; bytes of what is remembered of keys. Any thread. */
size_t shard_asked_bytes(const struct shard *, unsigned peer);
uint64_t shard_record_bytes(const struct shard *);

#endif
