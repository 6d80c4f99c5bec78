/*
 * record.h - what a shard remembers of a key beyond its directory word, while there is something to
 * remember. Most keys never have a record, or have one only while their row is on its way.
 *
 * Callers   the roles of one shard, on its thread
 * Memory    16 bytes of address space a key, used only for keys that had an intent, a record, or a
 *           row from another node; the records, which are reused together with their holders'
 *           memory; copies of parked entries, from malloc: what others can park here is bounded by
 *           their credit
 * Waiting   never
 * Life      records_init, record_get / record_release, records_fini
 */
#ifndef LOCUS_PROTOCOL_RECORD_H
#define LOCUS_PROTOCOL_RECORD_H

#include "base/memory.h"
#include "net/wire.h"
#include "protocol/request.h"

/* An entry that waits for a row on its way here. */
struct parked {
    struct parked *next, *last; /* `last` only of the first */
    uint64_t since_ns;
    unsigned peer;           /* who sent it */
    struct wire_entry entry; /* its values follow */
};

/* Which roles must consider a key. */
enum record_woken {
    WOKEN_ORIGIN = 1,  /* waiting requests of ours may go on */
    WOKEN_REPLICA = 2, /* the owner may have to be told something */
    WOKEN_OWNER = 4,   /* the row may leave */
};

/* Our sync of a key (replica.h): at most one is under way.
 *
 *              an intent begins, the last one ends,
 *              a recall, the row is wanted           --> ASKS    --.
 *    NONE ---- our updates                           --> UPDATES --+--> NONE
 *              a set, which takes updates along      --> SETS    --'
 *
 * It ends with its answer, with the row itself, or when it comes back because the row has come here
 * by another way. Only then does the next one leave, for what has changed meanwhile. */
enum record_sync { SYNC_NONE, SYNC_ASKS, SYNC_UPDATES, SYNC_SETS };

/* Two cache lines: one for intents and rounds, one for requests under way. */
struct record {
    uint64_t index;  /* of the key in its shard */
    uint32_t number; /* of the record */
    uint32_t asked;  /* requests of ours that are not yet answered */
    /* On a node that wants the row or holds a replica (replica.h). */
    bool registered;   /* the owner counts us as a holder, by its last answer */
    uint8_t sync;      /* enum record_sync: ours under way */
    bool is_awaited;   /* quiesce must wait for its answer */
    bool is_later : 1; /* changed since it left: another one follows */
    /* its replica has unsent updates, of this interval: clocks.h */
    bool is_unsent : 1;
    uint8_t is_unsent_later : 1;
    bool is_recalled : 1;
    bool is_kept : 1;      /* the owner counts us as a holder for ever */
    uint8_t woken : 3;     /* enum record_woken bits: the roles that must consider it */
    bool piggybacks : 1;   /* its intent starts beyond the lookahead */
    bool asked_unseen : 1; /* a sync was sent for what is not yet visible (unseen_version) */
    bool is_held : 1;      /* our sync is parked at a node that lives (repair.h) */
    bool is_orphan : 1;    /* no owner counts our replica, because its own was lost */
    uint8_t queued;        /* enum backlog_class bits: waits for the next rounds */
    uint16_t source;       /* the node that gave us the replica */
    uint16_t owner;        /* of the row of which we hold a replica, as far as known; */
    uint16_t holders, holder_capacity;
    uint64_t term; /* of that ownership */
    uint64_t version;
    /* On the owner (owner.h); `version` is the main copy's. */
    uint64_t seen_word; /* the directory word's version at the last look */
    struct holder *holder;
    /* On the origin of requests. */
    uint16_t route;           /* the node to which all requests under way were sent */
    bool is_stalled;          /* waiting requests could go on, but the credit is used up */
    bool wants_row;           /* of a replica: the next sync asks for the row, whatever we have */
    uint32_t localizing;      /* requests under way that want the row here */
    uint64_t askers;          /* bits of their workers, modulo 64 */
    request_place asked_last; /* the request (its item 0) */
    uint32_t stalled_next, woken_next;         /* a record's number */
    request_place waiting_first, waiting_last; /* items of our workers, in order */
    request_place unseen_first; /* written at the owner, and not yet visible in our replica */
    request_place set;          /* an item that sets our replica through the owner */
    uint64_t unseen_version;    /* the version in which the unseen are visible */
    struct parked *parked;      /* the first, on the owner to be */
};

/* A node that holds a replica of a row that is here. */
struct holder {
    uint16_t node;
    bool is_recalled : 1;
    bool is_queued : 1;  /* for a refresh */
    bool is_kept : 1;    /* for ever: the row does not move to it */
    bool writes : 1;     /* the last that it heard of the row was the answer to its update */
    uint32_t brought_us; /* when it was last sent that, or the row, modulo 2^32; */
    uint64_t seen;       /* the version that it has */
};

/* Is there nothing left to remember? */
static inline bool record_is_empty(const struct record *r)
{
    return r->asked == 0 && !r->is_stalled && r->waiting_first == REQUEST_NOWHERE &&
           r->unseen_first == REQUEST_NOWHERE && r->set == REQUEST_NOWHERE && !r->parked &&
           !r->registered && !r->sync && !r->is_later && !r->is_unsent && !r->queued &&
           r->version == 0 && r->holders == 0;
}

/* What a shard keeps for every key. Most wanted keys are here already, and need no record. */
struct key_state {
    uint64_t term;        /* of our ownership, while the row is here */
    uint32_t number;      /* of the record, 0: none */
    uint32_t wanted : 31; /* active intents of this node that will end */
    uint32_t is_kept : 1; /* there is one that will not end: LOCUS_FOREVER */
};

static inline bool key_is_wanted(const struct key_state *state)
{
    return state->wanted > 0 || state->is_kept;
}

struct records {
    uint64_t keys;           /* of the shard */
    struct key_state *state; /* [keys] */
    struct record **chunk;
    uint32_t chunks;           /* read by any thread */
    uint32_t used, free_count; /* records are numbered from 1 */
    uint32_t *free;            /* numbers that can be used again */
};

#ifdef LOCUS_FIBERS
enum { RECORDS_A_CHUNK = 4 }; /* simulations have few keys, and copy their state */
#else
enum { RECORDS_A_CHUNK = 256 };
#endif

/* 0 or -ENOMEM. */
int records_init(struct records *, uint64_t keys);
void records_fini(struct records *);

static inline struct record *record_at(const struct records *all, uint32_t number)
{
    return &all->chunk[(number - 1) / RECORDS_A_CHUNK][(number - 1) % RECORDS_A_CHUNK];
}

/* NULL: there is none. */
static inline struct record *record_find(const struct records *all, uint64_t index)
{
    uint32_t number = all->state[index].number;
    return number ? record_at(all, number) : NULL;
}

/* The key's state is written, perhaps for the first time. */
static inline void record_touched(const struct records *all, uint64_t index)
{
    memory_touched(all->state, all->keys * sizeof *all->state, &all->state[index],
                   sizeof *all->state);
}

/* Prefetch the key's state; a moment later its record; once that is in the cache, its holders. */
static inline void record_fetch(const struct records *all, uint64_t index)
{
    __builtin_prefetch(&all->state[index], 1, 3);
}

static inline void record_fetch_found(const struct records *all, uint64_t index)
{
    const char *r = (const char *)record_find(all, index);
    if (!r) return;
    __builtin_prefetch(r, 1, 3);
    __builtin_prefetch(r + sizeof(struct record) / 2, 1, 3);
}

static inline void record_fetch_holders(const struct records *all, uint64_t index)
{
    const struct record *r = record_find(all, index);
    if (r && r->holders > 0) __builtin_prefetch(r->holder, 1, 3);
}

/* The key's record; a new one remembers nothing. */
struct record *record_get(struct records *, uint64_t index);
/* Gives a record back that has nothing more to remember. */
void record_release(struct records *, struct record *);
/* Of memory, without holders and what is parked. Any thread. */
uint64_t records_bytes(const struct records *);

#endif
