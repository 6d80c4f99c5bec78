/*
 * intents.h - the intents of this node's workers in one shard: signaled, waiting, active, expired.
 *
 * Each worker or loader writes to its own stream (intent_stream.h), and the shard reads it: begins
 * of wants, whose ends are looked up when they would be due. It keeps the wants of each worker in
 * batches: waiting batches ordered by their start, active ones by when they would end. When a batch
 * becomes active, the count of each of its keys rises by one. Then the keys whose ends were raised
 * go into later batches, and the counts of the others fall by one. The node wants a key while its
 * count is above 0, so intents may overlap, repeat and be extended (AdaPM, Appendix B.2.1: peers
 * hear only of the first and the last). A want ends exactly: its end is looked up again
 * at least four fifths of the way to it, and not beyond.
 *
 * What finds no place in a stream's table and is extended again and again is in many active
 * batches. Only one of them matters for each key: the one that ends last. When the active batches
 * of a worker have twice as many keys as after the last merge, the others are removed.
 *
 * An intent that never ends (LOCUS_FOREVER) belongs to the node, not to the worker. Once it has
 * begun it is no longer a batch, and it ends when it is taken back. If it still waits for its start
 * when its worker closes, it begins then.
 *
 * Callers   intents_open_stream, intents_published, intents_advanced: workers' and loaders'
 *           threads; the rest: the shard's
 * Memory    8 bytes a want while it waits, up to 16 while it is active; for each stream chunks of
 *           4 KiB, and its table. At most LOCUS_WAITING_KEYS_MAX wants of a node wait
 * Waiting   never
 * Life      intents_init, streams open and close, intents_turn now and then, intents_fini when all
 *           streams are closed
 */
#ifndef LOCUS_INTENTS_INTENTS_H
#define LOCUS_INTENTS_INTENTS_H

#include "base/sets.h"
#include "intents/intent_stream.h"

/* One worker's intents in one shard. */
struct worker_intents {
    /* How many clocks ahead of the current one to act; and how many more in this turn, where acting
     * costs little: the shard is not woken for them. round.c sets both before each turn. */
    locus_clock lookahead, ahead;
    struct intent_stream *stream;      /* of the worker and its loaders, in order of opening */
    struct clock_heap waiting, active; /* batches by start, by when they would end */
    size_t active_keys, merge_at;      /* in all active batches; when to merge them */
};

struct intents {
    unsigned workers;
    uint64_t keys;                   /* of the shard */
    const locus_clock *const *clock; /* [workers] */
    uint64_t *node_keys;             /* wants that wait on the whole node */
    uint64_t taken;                  /* wants that streams brought, for models of what that costs */
    struct intent_stream *arrived;   /* atomic: opened, but not yet known to the shard */
    struct worker_intents *worker;   /* [workers] */
    struct announced {
        locus_clock due;       /* atomic: look again when the worker's clock reaches it */
        locus_clock lookahead; /* atomic: of the last turn */
        uint32_t opening;      /* atomic: for streams that open now */
    } * announced;             /* [workers], to their threads */
};

/* 0 or -ENOMEM. */
int intents_init(struct intents *, uint64_t keys, unsigned workers, const locus_clock *const *clock,
                 uint64_t *node_keys);
void intents_fini(struct intents *);

/* ---- worker and loaders ---- */

/* NULL: no memory. */
struct intent_stream *intents_open_stream(struct intents *, unsigned worker);
/* How many clocks ahead the shard acts on the worker's intents now, for stream_begin(). */
locus_clock intents_lookahead(const struct intents *, unsigned worker);
/* After publishing: must the shard be woken for an intent with this start? */
bool intents_published(struct intents *, unsigned worker, locus_clock start, locus_clock now);
/* The worker's clock is now `now`: must the shard be woken? */
bool intents_advanced(const struct intents *, unsigned worker, locus_clock now);

/* ---- the shard ---- */

/* What happens to a key: it is wanted once more, once less; the node keeps it, no longer. */
enum intent_kind { INTENT_BEGINS, INTENT_ENDS, INTENT_KEEPS, INTENT_UNKEEPS };
struct intent_event {
    uint64_t index;
    locus_clock start, end; /* as it was first named; 0: not known */
    uint8_t kind;           /* enum intent_kind */
    bool piggybacks;        /* it starts beyond the lookahead */
};

/* Reads the streams; passes the events that are due to `hear`, in order, in runs of at most
 * INTENTS_RUN. */
enum { INTENTS_RUN = 64 };
typedef void intents_hear(void *context, const struct intent_event *, unsigned count);
void intents_turn(struct intents *, intents_hear *, void *context);

/* Would intents_turn do anything? Asked before sleeping, after announcing it. */
bool intents_have_news(const struct intents *);

#endif
