/*
 * shard.h - the actor that is responsible for one part of the key space on this node, and speaks with the same shard of
 * the other nodes.
 *
 * Two sides meet in it. As origin it sends the requests of this node's workers to the owners of the keys and brings the
 * answers back; as owner it serves what the shards of other nodes ask (access.h), and moves rows (relocation.h). For
 * every peer it keeps what it has asked, and what the answers will need, below a window, so that a slow peer slows its
 * askers and no queue grows: whatever is forwarded or parked on the way counts in its origin's window.
 *
 * Callers   one thread: the reactor's, or the simulation's
 * Memory    its own; 8 bytes a possible request of each worker; record.h
 * Waiting   never: shard_serve says that the window is used up (relocation.h names the exception)
 * Life      shard_init, turns, shard_fail when a peer was lost (then every request fails), shard_fini
 */
#ifndef LOCUS_PROTOCOL_SHARD_H
#define LOCUS_PROTOCOL_SHARD_H

#include "protocol/platform.h"
#include "protocol/replica.h"
#include "protocol/intents.h"
#include "protocol/record.h"
#include "protocol/request.h"
#include "protocol/round.h"
#include "protocol/trace.h"
#include "base/histogram.h"
#include "store/row.h"

enum { SHARD_HOPS = LOCUS_HISTOGRAM_BUCKETS };

enum { SHARD_STALE_SHIFT = 10 };

/* Written by the shard's thread, read by any. */
struct shard_counters {
    uint64_t served_pulls, served_pushes; /* keys, for other nodes; a set counts as a push */
    uint64_t relocated_in, relocated_out, forwards;
    uint64_t replicas_created, replicas_dropped, rounds, intents_late;
    /* Over replicas: time since the last frame of its owner; half of its square, in units of 1 << SHARD_STALE_SHIFT us². */
    uint64_t stale_us, stale_us_squared;
};

struct shard_histograms {
    struct locus_histogram relocation; /* of a localize, from when we took it on until all its rows were here */
    struct locus_histogram parked;     /* of requests of other nodes, until the row was here */
    uint64_t hops[SHARD_HOPS];         /* requests that were served here after so many hops */
};

struct shard {
    struct store *store;
    const struct port *port;
    enum locus_technique technique;
    bool moves; /* rows may move between nodes, or be replicated */
    bool acts_immediately;
    unsigned number; /* among the shards of a node */
    unsigned nodes, rank, workers;
    uint64_t now_ns; /* when the last frame or request came, or the last turn began */
    size_t window_bytes;
    size_t *asked_bytes;     /* [nodes] requests and their answers under way */
    struct request **active; /* [workers * REQUEST_NUMBERS_MAX] taken on and not complete */
    size_t parked_bytes;     /* entries that wait for rows on their way here */
    struct records records;
    uint32_t stalled; /* records with items that wait for a window: the first one's number, 0: none */
    struct mover mover;
    struct intents intents;
    struct entries entries;
    struct rounds rounds;
    struct trace *trace;                   /* NULL: nothing is traced. The reactor's */
    struct marks *marks;                   /* NULL: nothing is replicated */
    bool marks_seen;                       /* the last turn left marks for a later one */
    uint64_t reclaim_ns, reclaim_pause_ns; /* when to look again for memory that no reader sees any more */
    int failure;                           /* 0, or why every request fails */
    struct shard_counters counters;
    struct shard_histograms histograms;
};

struct shard_config {
    struct store *store;
    const struct port *port;
    enum locus_technique technique;
    unsigned number, workers;
    size_t window_bytes;
    bool acts_immediately;
    unsigned max_rounds_per_second;  /* 0: the governor alone decides */
    uint64_t round_ns;               /* processor time of the platform for a round, at each end: a frame out, one in */
    uint64_t kib_ns;                 /* the same for a KiB of it */
    const locus_clock *const *clock; /* [workers]; NULL: there are no intents */
    uint64_t *node_keys;             /* keys of waiting intents, of the whole node */
};

/* 0 or -ENOMEM. */
int shard_init(struct shard *, const struct shard_config *);
void shard_fini(struct shard *);

/* Once a turn, after requests and frames. Returns when it wants to be called again without being asked, UINT64_MAX:
 * never. */
uint64_t shard_turn(struct shard *, uint64_t now_ns);

/* Takes a request on, or goes on with it: sends what the windows allow. True: all of it was taken on (it will be
 * completed, or has been); false: call again with the same request after the next frame, and with no other of that
 * worker before. */
bool shard_serve(struct shard *, struct request *);

/* Is there anything that a turn would do? Asked before sleeping, after having announced it. */
bool shard_has_news(const struct shard *);

/* A frame of entries from `peer`. NULL, or what is wrong with it, in the words of wire.h; then its link must fail. */
const char *shard_frame(struct shard *, unsigned peer, const struct wire_frame *, const void *body);

/* A node was lost: completes all requests with rc, now and in future. */
void shard_fail(struct shard *, int rc);

/* Adds what was counted so far. Any thread. */
void shard_add_counters(const struct shard *, struct shard_counters *to);
void shard_add_histogram(const struct shard *, enum locus_histogram_kind, struct locus_histogram *to);

/* For the shard's actors. */

/* A request is done. */
void shard_complete(struct shard *, struct request *);

static inline struct spot shard_spot(const struct shard *s, uint64_t index)
{
    return store_spot(s->store, keyspace_key(&s->store->keyspace, s->number, index));
}

/* Every node holds a replica of every row. */
static inline bool shard_is_full(const struct shard *s)
{
    return s->technique == LOCUS_FULL_REPLICATION;
}

/* Of an entry with a row of the greatest length. */
static inline size_t shard_entry_bytes_max(const struct store *s)
{
    return wire_entry_bytes((uint32_t)(s->zeros_bytes / sizeof(float)));
}

/* Until when can what the entry brings about wait for a frame that goes there anyhow (wire.h)? 0: it cannot. */
static inline uint64_t shard_can_wait_until(const struct shard *s, const struct wire_entry *e)
{
    if (e->operation != WIRE_ENTRY || e->flags != WIRE_BEGIN || e->tag == 0 || s->rounds.settles > 0) return 0;
    return s->now_ns + UINT64_C(1000) * (e->tag < WIRE_PATIENCE_US_MAX ? e->tag : WIRE_PATIENCE_US_MAX);
}

/* Release: who sees what was counted last sees what was counted before (shard_add_counters). */
static inline void shard_count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELEASE);
}

/* Reads or writes a row that is here; waits for memory as relocation.h says. */
void shard_read(struct spot, float *values);
void shard_write(struct shard *, struct spot, const float *values, enum row_change);

#endif
