/*
 * intents.h - what the workers of this node intend to access in one shard: signaled, waiting,
 * active, expired.
 *
 * A worker or loader writes to a stream of its own (intent_stream.h), the shard reads it. The shard
 * keeps the intents of each worker in batches (the keys of one call): waiting ones ordered by their
 * start, active ones by their end. When a batch becomes active, each of its keys is wanted once
 * more; when it ends, once less. The node wants a key while any batch does, so intents may overlap,
 * repeat and be extended (AdaPM, Appendix B.2.1: peers hear of the first and of the last only).
 *
 * An intent that is extended again and again has many active batches, of which one for each key
 * counts: the one that ends last. When the active batches of a worker have twice as many keys as
 * were left the last time, the others are taken out.
 *
 * An intent that never ends (LOCUS_FOREVER) is the node's, not its worker's: once it has begun it
 * is no batch any more, and ends when it is taken back. One that waits for its start begins when
 * its worker closes, at the latest.
 *
 * A shard that sleeps is woken when there is something to do: for every worker it publishes the
 * clock at which it must look next, and the worker, when it comes to that clock, wakes it
 * (intents_advanced).
 *
 * Callers   intents_open_stream, intents_published, intents_advanced: signaling.c on workers' and
 *           loaders' threads; the rest: the shard's thread
 * Memory    8 bytes a key while its intent waits, or up to 16 while it is active, chunks of 4 KiB
 *           for each stream and 16 KiB of keys that the present call has named. At most
 *           LOCUS_WAITING_KEYS_MAX keys wait on a node
 * Waiting   never
 * Life      intents_init, streams open and close, intents_turn now and then, intents_fini when all
 *           streams are closed
 */
#ifndef LOCUS_PROTOCOL_INTENTS_H
#define LOCUS_PROTOCOL_INTENTS_H

#include "base/clock_heap.h"
#include "protocol/intent_stream.h"

/* The keys of one call that belong to this shard. */
struct intent_batch;

/* Of one worker, in one shard. */
struct worker_intents {
    struct clock_heap waiting, active; /* by start, by end */
    size_t active_keys, merge_at;      /* of all active batches; more than that are merged */
};

enum { INTENTS_EIGHTHS = 8 };

struct intents {
    unsigned workers;
    /* of `ahead`: so far beyond the lookahead starts what begins just now */
    uint32_t eighths;
    /* whose keys begin just now, NULL: none's */
    const struct intent_batch *beginning;
    const locus_clock *const *clock; /* [workers] */
    uint64_t *node_keys;             /* keys that wait, of the whole node */
    struct intent_stream *arrived;   /* atomic: opened, not yet known to the shard */
    struct intent_stream *stream;    /* the shard's list, in the order in which they were opened */
    struct worker_intents *worker;   /* [workers] */
    struct intent_note {
        locus_clock due;       /* atomic: look again when the worker's clock is there */
        locus_clock lookahead; /* atomic: of the last turn */
        uint32_t life;         /* atomic: of streams that open now */
    } * note;                  /* [workers] */
};

/* 0 or -ENOMEM. */
int intents_init(struct intents *, unsigned workers, const locus_clock *const *clock,
                 uint64_t *node_keys);
void intents_fini(struct intents *);

/* ---- worker and loaders ---- */

/* NULL: no memory. */
struct intent_stream *intents_open_stream(struct intents *, unsigned worker);
/* After publishing: must the shard be woken for an intent with this start? */
bool intents_published(struct intents *, unsigned worker, locus_clock start, locus_clock now);
/* The worker's clock has come to `now`: must the shard be woken? */
bool intents_advanced(const struct intents *, unsigned worker, locus_clock now);

/* ---- the shard ---- */

struct intent_events {
    void *context;
    /* The key comes soon, very soon: what will be looked at is fetched; and what that leads to. */
    void (*soon)(void *context, uint64_t index);
    void (*very_soon)(void *context, uint64_t index);
    /* A key is wanted once more, once less. */
    void (*begin)(void *context, uint64_t index);
    void (*end)(void *context, uint64_t index);
    /* The node keeps a key; no longer. */
    void (*keep)(void *context, uint64_t index);
    void (*unkeep)(void *context, uint64_t index);
    /* How many clocks ahead of the present one to act. */
    locus_clock (*lookahead)(void *context, unsigned worker);
    /* How many more in this turn, which costs little: nobody is woken for them. */
    locus_clock (*ahead)(void *context, unsigned worker);
};

/* Reads the streams, begins and ends what is due. */
void intents_turn(struct intents *, const struct intent_events *);
/* The clocks of the batch whose keys begin just now; both 0 when it is none. */
void intents_beginning(const struct intents *, locus_clock *start, locus_clock *end);

/* Those of a key, for look.h. *more: there was no room for all, or more than INTENTS_LOOK_MAX keys
 * to look through. Returns how many. */
enum { INTENTS_LOOK_MAX = 1 << 20 };
struct intent_found {
    unsigned worker;
    bool is_active;         /* else it waits for its start */
    locus_clock start, end; /* LOCUS_FOREVER: it does not end */
};
unsigned intents_find(const struct intents *, uint64_t index, struct intent_found *, unsigned max,
                      bool *more);
/* Is there anything that intents_turn would do? Asked before sleeping, after having announced
 * it. */
bool intents_have_news(const struct intents *);

#endif
