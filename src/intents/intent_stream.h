/*
 * intent_stream.h - the intents that one worker or loader signals, on their way to one shard.
 *
 * One thread writes, the shard reads, and neither waits for the other. What is written are the
 * begins of wants: a key that is named again before its want ends, or so soon after it that both
 * would overlap (pacer.h), is wanted on. Then the end of its want is raised, in a table that both
 * see, and nothing is written. The shard looks there when a want would end.
 *
 * The table has four wants a set, as many as lie in one line of the cache. What finds no place, or
 * ends more than WANT_SPAN_MAX clocks from now, is written, however often it is named: that costs
 * time, and nothing else.
 *
 * Callers   the writer: one thread; the reader: the shard's
 * Memory    8 bytes a key in chunks of 4 KiB until they are read; 16 bytes a want, at most
 *           16,384 and about as many as the shard has keys
 * Waiting   never
 * Life      stream_new; any calls; stream_close by the writer, then stream_free by the reader
 */
#ifndef LOCUS_INTENTS_INTENT_STREAM_H
#define LOCUS_INTENTS_INTENT_STREAM_H

#include "locus.h"

#include <stdbool.h>
#include <stdint.h>

struct intent_chunk;

/* Keys that are, or will be, wanted from one clock to another: a line of the cache. The writer's;
 * the reader looks. All atomic. */
enum { WANTS_A_SET = 4 };
struct intent_wants {
    locus_clock end[WANTS_A_SET]; /* not after the worker's clock: the place is free */
    uint32_t begin[WANTS_A_SET];  /* its last bits: at most WANT_SPAN_MAX before the end */
    uint32_t tag[WANTS_A_SET];    /* of the key, beside its set; and was the end raised? */
};
#define WANT_RAISED UINT32_C(1)
#define WANT_SPAN_MAX ((locus_clock)1 << 31)

/* From one worker or loader to one shard. */
struct intent_stream {
    struct intent_stream *next; /* of the shard's, of this worker */
    unsigned worker;
    uint32_t opening;           /* of the worker: another number each time */
    uint32_t *last_opening;     /* atomic: that of now */
    struct intent_wants *wants; /* [2^set_bits] */
    unsigned set_bits;
    uint32_t is_used; /* atomic: a want was ever placed there */
    /* The writer's, in lines that the shard does not read when it looks at wants. */
    struct intent_chunk *writing __attribute__((aligned(64)));
    uint32_t written;               /* words in it, published or not */
    struct intent_chunk *first_new; /* chunks begun since the last publication */
    uint32_t header;                /* of the part under construction; 0: none */
    struct intent_chunk *header_chunk;
    struct intent_call { /* the present one */
        locus_clock start, end, now;
        locus_clock joins; /* wants that end then or later go on; INT64_MAX: none */
        locus_clock from;  /* the first end that it raised; INT64_MAX: none */
        uint64_t added;    /* of its keys, in parts */
    } call;
    uint64_t chunks; /* atomic: published at least in part, without the first */
    int closed;      /* atomic: nothing will follow */
    /* The shard's. */
    struct intent_chunk *reading __attribute__((aligned(64)));
    uint32_t read;               /* words of it */
    uint64_t chunks_read, until; /* whole ones, except the last, which is being read */
    bool has_ended;              /* with its worker: nothing of it is wanted */
};

/* ---- the writer ---- */

/* `keys`: of the shard. `opening`: the worker's, atomic; it outlives the stream. NULL: no
 * memory. */
struct intent_stream *stream_new(unsigned worker, uint64_t keys, uint32_t *opening);
/* The worker's own stream is closed after its loaders'; all intents of the worker end with it. */
void stream_close(struct intent_stream *, bool ends_worker);
/* As the end of an intent: the node no longer keeps the keys, nor will it. */
#define INTENT_TAKES_BACK INT64_MIN
/* For each call: stream_begin with the worker's clock and the shard's lookahead, add the indices of
 * all its keys in this shard, then stream_publish or stream_undo. After -ENOMEM: undo. */
void stream_begin(struct intent_stream *, locus_clock start, locus_clock end, locus_clock now,
                  locus_clock lookahead);
static inline int stream_add(struct intent_stream *, uint64_t index);
/* Writes it in any case: stream_came_late says when. */
int stream_write(struct intent_stream *, uint64_t index);
/* After stream_add of all keys: the worker has come to `now` meanwhile, so the shard may have ended
 * wants just before they were raised. If so, all keys of the call must be written. */
static inline bool stream_came_late(const struct intent_stream *s, locus_clock now)
{
    return s->call.from <= now;
}
bool stream_has_unpublished(const struct intent_stream *);
void stream_publish(struct intent_stream *);
void stream_undo(struct intent_stream *);

/* ---- the reader ---- */

enum { PART_BEGUN, PART_WAITING, PART_END_OF_WORKER, STREAM_PART_MAX = 508 };

/* Some or all keys of one call; fewer than STREAM_PART_MAX. */
struct intent_part {
    unsigned kind;
    uint32_t count;
    locus_clock start, end;
    const uint64_t *index; /* valid until the next stream_read() */
};

/* Reading ends about where the writer is now: one as fast as the reader would keep it for ever. */
void stream_begin_reading(struct intent_stream *);
/* The next part; false if there is none yet, or reading has ended. */
bool stream_read(struct intent_stream *, struct intent_part *);
bool stream_is_closed(const struct intent_stream *);
/* Is there anything to read, or has it closed? */
bool stream_has_unread(const struct intent_stream *);
/* How long the key is wanted, by what this stream has named, if that has begun at `now`; or less
 * than `now`. */
locus_clock stream_wanted_until(const struct intent_stream *, uint64_t index, locus_clock now);
/* Passes the wants on that were raised, and have not ended at `now`. */
typedef void stream_hear(void *context, uint64_t index, locus_clock start, locus_clock end);
void stream_raised(const struct intent_stream *, locus_clock now, stream_hear *, void *context);
/* Frees it with everything that was not read. */
void stream_free(struct intent_stream *);

/* ---- wants ---- */

static inline struct intent_wants *stream_wants(const struct intent_stream *s, uint64_t index)
{
    return &s->wants[index & ((UINT64_C(1) << s->set_bits) - 1)];
}

static inline bool stream_is_used(const struct intent_stream *s)
{
    return __atomic_load_n(&s->is_used, __ATOMIC_ACQUIRE);
}

static inline uint32_t stream_tag(const struct intent_stream *s, uint64_t index)
{
    return (uint32_t)(index >> s->set_bits) << 1;
}

/* Bits of the places with this tag, for the writer: one or none, mostly, but which one nobody can
 * predict, so it is not found by branches. */
static inline unsigned wants_with(const struct intent_wants *w, uint32_t tag)
{
    _Static_assert(WANTS_A_SET == 4, "each is looked at");
    return (unsigned)((w->tag[0] ^ tag) <= WANT_RAISED) |
           (unsigned)((w->tag[1] ^ tag) <= WANT_RAISED) << 1 |
           (unsigned)((w->tag[2] ^ tag) <= WANT_RAISED) << 2 |
           (unsigned)((w->tag[3] ^ tag) <= WANT_RAISED) << 3;
}

static inline locus_clock want_begin(locus_clock end, uint32_t begin)
{
    return end - (locus_clock)(uint32_t)((uint32_t)end - begin);
}

/* Is the key wanted on by what was named before? Keys come in any order, so whether there is an end
 * to raise is not asked by a branch. */
static inline bool stream_goes_on(struct intent_stream *s, uint64_t index)
{
    struct intent_call *c = &s->call;
    struct intent_wants *w = stream_wants(s, index);
    for (unsigned places = wants_with(w, stream_tag(s, index)); places; places &= places - 1) {
        unsigned i = (unsigned)__builtin_ctz(places);
        locus_clock end = w->end[i];
        if (end < c->joins || want_begin(end, w->begin[i]) > c->start) continue;
        bool raises = c->end > end;
        locus_clock from = raises ? end : INT64_MAX, later = raises ? c->end : end;
        c->from = from < c->from ? from : c->from;
        if (later - want_begin(end, w->begin[i]) > WANT_SPAN_MAX) /* it has begun long ago */
            __atomic_store_n(&w->begin[i], (uint32_t)c->now, __ATOMIC_RELEASE);
        __atomic_store_n(&w->tag[i], w->tag[i] | raises, __ATOMIC_RELAXED);
        __atomic_store_n(&w->end[i], later, __ATOMIC_RELEASE);
        return true;
    }
    return false;
}

int stream_add_new(struct intent_stream *, uint64_t index);
static inline int stream_add(struct intent_stream *s, uint64_t index)
{
    return stream_goes_on(s, index) ? 0 : stream_add_new(s, index);
}

#endif
