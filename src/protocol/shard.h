/*
 * shard.h - what the roles of one shard share. It is the lowest layer of the protocol: nothing here
 * calls a role. When something happens to a key, a role does its own part and wakes the key for the
 * other roles (shard_wake); woken.h considers it after each entry, request or intent.
 *
 * Callers   the roles of one shard, on its thread
 * Memory    the actor's (actors/actor.h)
 * Waiting   never; but shard_write waits for memory as dispatch.h says
 * Life      the actor's
 */
#ifndef LOCUS_PROTOCOL_SHARD_H
#define LOCUS_PROTOCOL_SHARD_H

#include "base/error.h"
#include "base/figures.h"
#include "intents/pacer.h"
#include "protocol/events.h"
#include "protocol/plan.h"
#include "protocol/record.h"
#include "protocol/request.h"
#include "store/row.h"

struct backlog;
struct clocks;
struct intent_event;
struct intents;
struct losses;
struct once;
struct pacer;
struct replicas;
struct rounds;
struct saves;

/* What a shard needs from its environment: a reactor with real links and workers, or a simulation
 * with a seeded network and virtual time. No call waits. */
struct platform {
    void *context;
    /* Space for an entry with `length` floats in the frame to `peer`, with a zeroed header; valid
     * until the next call. Entries to one peer arrive in the order of these calls. The frame leaves
     * at the end of the turn. But if all its entries can wait, it leaves when the first of them can
     * wait no longer (`until_ns`), and entries of later turns join it. `until_ns` 0: the entry
     * cannot wait. Returns NULL if the link has failed; the shard will hear of that. */
    struct wire_entry *(*entry)(void *context, unsigned peer, uint32_t length, uint64_t until_ns);
    /* The request is done, with 0 or a negative errno; it belongs to its worker again. */
    void (*complete)(void *context, struct request *, int rc);
    /* Nanoseconds since some fixed moment; never goes back. */
    uint64_t (*now_ns)(void *context);
    /* Processor time of this thread so far. A call takes half a microsecond. */
    uint64_t (*cpu_ns)(void *context);
    /* The shard has repaired the loss of this number (repair.h). NULL: nobody asks. */
    void (*repaired)(void *context, uint32_t number);
    /* Bytes that this shard has sent so far, of all kinds. NULL: nobody asks. */
    uint64_t (*sent)(void *context);
};

/* No request is served or leaves, because a node was lost (repair.h). */
enum { SHARD_REPAIRS = 1 };
/* What becomes of a request: it is for a row at home here; for any; it is parked, for the same. */
enum shard_serves { SERVES_HOME, SERVES_OR_PASSES_ON, SERVES_NOBODY };

enum { SHARD_HOPS = LOCUS_HISTOGRAM_BUCKETS, SHARD_STALE_SHIFT = 10 };

/* Written by the shard's thread, read by any. */
struct shard_counters {
    SHARD_FIGURES(FIGURE_FIELD)
};

/* Over all replicas, microseconds that they were held, weighed by their age in microseconds. */
static inline double shard_aged_us(const struct shard_counters *c)
{
    return (double)c->stale_us_squared * (1 << SHARD_STALE_SHIFT);
}

struct shard_histograms {
    /* of a worker's localize, from taking it on until all its rows were here */
    struct locus_histogram relocation;
    struct locus_histogram pull, push; /* the same of pulls; of pushes and sets */
    struct locus_histogram parked;     /* of requests of other nodes, until the row arrived */
    uint64_t hops[SHARD_HOPS];         /* requests served here, by number of hops */
    struct locus_histogram round;      /* of our rounds, until the acknowledgement */
    /* Times between two frames of a peer from which we hold replicas: the number of replicas, and
     * that number times the microseconds. In buckets of time. */
    struct {
        uint64_t replicas, replica_us;
    } gap[LOCUS_HISTOGRAM_BUCKETS];
};

struct shard {
    const struct node_plan *plan;
    struct store *store;
    const struct platform *platform;
    const struct technique *technique;
    unsigned number; /* among the shards of a node */
    unsigned nodes, rank, workers;
    const locus_clock *const *clock; /* [workers]; NULL: there are no intents */
    uint64_t now_ns; /* the time of the last frame or request, or of the start of the last turn */
    int failure;     /* 0, or why every request fails, or SHARD_REPAIRS */
    enum shard_serves serves;
    struct records records;
    uint32_t woken_first, woken_last; /* numbers of records to be considered, in order; 0: none */
    struct mover mover;
    struct dirty_set *dirty; /* NULL: nothing is replicated */
    bool dirty_seen;         /* the last turn left dirty rows for a later one */
    /* The requests of our workers (origin.h). */
    struct request **active; /* [workers * REQUEST_NUMBERS_MAX] taken on and not complete */
    size_t credit_bytes;
    size_t *asked_bytes; /* [nodes] of requests under way and their answers */
    uint32_t stalled;    /* number of the first record with items that wait for credit */
    unsigned quiescing;  /* quiesce requests under way (round.h) */
    const char **wrong;  /* [nodes] with an entry of the peer that was parked; NULL: nothing */
    size_t memory_max;   /* that others may have here: shard_memory_max() */
    size_t parked_bytes; /* of entries that wait for rows on their way here (dispatch.c) */
    struct key_events *events; /* NULL: nobody may ask for them */
    /* when to look again for memory that readers no longer see */
    uint64_t reclaim_ns, reclaim_pause_ns;
    /* Each belongs to the role of the same name. */
    struct replicas *replicas;
    struct backlog *backlog;
    struct clocks *clocks;
    struct pacer *pacer;
    struct margin margin; /* round.h */
    struct rounds *rounds;
    struct intents *intents;
    struct losses *losses; /* NULL: a loss ends the job */
    struct saves *saves;   /* likewise */
    struct once *once;     /* likewise, and of two nodes */
    struct shard_counters counters;
    struct shard_histograms histograms;
};

/* Writes an entry into the peer's next frame, and returns it for the values that follow; until_ns
 * and NULL as above. */
static inline struct wire_entry *shard_entry(const struct shard *s, unsigned peer,
                                             struct wire_entry entry, uint64_t until_ns)
{
    struct wire_entry *e = s->platform->entry(s->platform->context, peer, entry.length, until_ns);
    if (e) *e = entry;
    return e;
}

/* Sends what is of the shard, and of no key (WIRE_OF_SHARD). */
static inline void shard_send(const struct shard *s, unsigned peer, uint8_t operation,
                              uint32_t round, locus_clock clock)
{
    const uint16_t rank = (uint16_t)s->rank;
    shard_entry(s, peer,
                (struct wire_entry){operation, .owner = rank, .origin = rank, .round = round,
                                    .clock = clock},
                0);
}

/* A request is done. */
void shard_complete(struct shard *, struct request *);

static inline struct request **shard_active(const struct shard *s, unsigned worker, unsigned number)
{
    return &s->active[(size_t)worker * REQUEST_NUMBERS_MAX + number];
}

static inline struct row_ref shard_row_ref(const struct shard *s, uint64_t index)
{
    return store_row_ref(s->store, keyspace_key(&s->store->keyspace, s->number, index));
}

/* Every node holds a replica of every row. */
static inline bool shard_is_full(const struct shard *s)
{
    return s->technique->every_node_holds;
}

/* ---- where a key's main copy is, as far as this node knows ---- */

/* Of two pieces of knowledge the one with the higher term is newer, by whatever way it came
 * (README.md). If the owner is this node, and the row is not here, it is on its way, and requests
 * for it are parked (dispatch.c). */
struct location {
    unsigned owner;
    bool is_here;    /* the main copy, not only its ownership */
    bool is_replica; /* a replica is here */
    uint64_t term;
};

/* For every entry: a call, with its answer through memory, would be dearer than the look. */
static inline __attribute__((always_inline)) struct location location_of(const struct shard *s,
                                                                         struct row_ref ref)
{
    directory_word w = directory_load(row_ref_word(ref));
    switch (directory_state(w)) {
    case DIRECTORY_UNTOUCHED: {
        unsigned home = row_ref_home(ref);
        return (struct location){home, home == s->rank, home != s->rank && ref.partition->is_full,
                                 0};
    }
    case DIRECTORY_ELSEWHERE:
        return (struct location){directory_owner(w), false, false, directory_term(w)};
    case DIRECTORY_REPLICA: {
        const struct record *r = record_find(&s->records, ref.index);
        if (ref.partition->is_full) return (struct location){row_ref_home(ref), false, true, 0};
        INVARIANT(r != NULL, "a replica that nobody remembers");
        return (struct location){r->owner, false, true, r->term};
    }
    default: return (struct location){s->rank, true, false, s->records.state[ref.index].term};
    }
}

/* A message says that `owner` got the row with this term. */
void location_learn(struct shard *, struct row_ref, unsigned owner, uint64_t term);

/* ---- entries ---- */

/* One that has come from a peer and was checked (dispatch.c), with the place of its row. It is in
 * the frame, or was parked. */
struct arrival {
    const struct wire_entry *entry;
    struct row_ref ref; /* {0}: of WIRE_OF_SHARD */
    unsigned peer;
};

/* The size of an entry with a row of the greatest length. */
static inline size_t shard_entry_bytes_max(const struct store *s)
{
    return wire_entry_bytes((uint32_t)(s->zeros_bytes / sizeof(float)));
}

/* Until when can what follows from the entry wait for a frame (wire.h)? 0: it cannot. */
static inline uint64_t shard_can_wait_until(const struct shard *s, const struct wire_entry *e)
{
    if (e->operation != WIRE_SYNC || e->flags != WIRE_BEGIN || e->slack_us == 0 || s->quiescing > 0)
        return 0;
    return s->now_ns +
           UINT64_C(1000) * (e->slack_us < WIRE_SLACK_US_MAX ? e->slack_us : WIRE_SLACK_US_MAX);
}

/* The current clock of a worker; 0 if there are no intents. */
static inline locus_clock shard_clock(const struct shard *s, unsigned worker)
{
    return s->clock ? __atomic_load_n(s->clock[worker], __ATOMIC_RELAXED) : 0;
}

/* These roles must consider the key again: one or several of enum record_woken (record.h). */
void shard_wake(struct shard *, struct record *, unsigned roles);

/* Release: a thread that sees a later count also sees the earlier ones (shard_add_counters). */
static inline void shard_count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELEASE);
}

/* The credit in use towards a peer is now `bytes`; read by any thread. */
static inline void shard_asks(struct shard *s, unsigned peer, size_t bytes)
{
    __atomic_store_n(&s->asked_bytes[peer], bytes, __ATOMIC_RELAXED);
}

/* Something has happened to a key; `node` is the other node. */
static inline void shard_event(const struct shard *s, uint64_t index, unsigned node,
                               enum key_event_kind kind, enum key_event_why why, uint64_t term)
{
    if (__builtin_expect(!s->events, 1)) return;
    events_note(s->events, &(struct key_event){.ns = s->now_ns,
                                               .index = index,
                                               .term = term,
                                               .node = (uint16_t)node,
                                               .kind = (uint8_t)kind,
                                               .why = (uint8_t)why});
}

/* The same of an intent. */
void shard_note_intent(const struct shard *, const struct intent_event *, enum key_event_kind,
                       unsigned node);

/* Reads, in a form of row.h, or writes a row that is here. */
void shard_read(struct row_ref, float *values, unsigned form);
void shard_write(struct shard *, struct row_ref, const float *values, enum row_change);
/* A step that another node's push or replica asks for. The row has an optimizer. */
void shard_step(struct shard *, struct row_ref, const float *gradient, struct row_step);
/* A push of another node, or one of this node's that comes back. */
void shard_push(struct shard *, struct row_ref, const struct wire_entry *);

#endif
