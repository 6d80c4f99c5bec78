/*
 * wire.h - what travels between the same shard of two nodes: frames of entries.
 *
 *   frame = header (40 bytes), entries end to end
 *   entry = header (40 bytes), `length` binary32 values, zeros to a multiple of 8 bytes
 *
 * All fields are little-endian, at the offsets of the structs below. What arrives is used only after
 * wire_check_frame() and, for each entry, wire_next(): every length is compared with what is left.
 *
 * Memory    the caller's buffers; entries are read and written in place
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_NET_WIRE_H
#define LOCUS_NET_WIRE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the wire is little-endian; this machine needs conversions"
#endif

#define WIRE_MAGIC UINT32_C(0x73636f6c) /* "locs" */
enum { WIRE_VERSION = 16, WIRE_TEXT_MAX = 512 };

enum wire_kind {
    WIRE_ENTRIES,   /* `count` entries follow */
    WIRE_HEARTBEAT, /* nothing follows: the sender lives and has nothing to say */
    /* the sender closes in order, as all nodes do: the end of the connection is no failure */
    WIRE_BYE,
    WIRE_LOST, /* the sender leaves because node `lost` failed; the body is text that says why */
    /* Between nodes of one host, whose memory carries what follows (shm.h), in this order: the
     * node of lower rank says its place; the other one, if that is its own place, the name of the
     * memory; the first answers with WIRE_THROUGH, or without a text: it cannot be had. */
    WIRE_SHM,
    WIRE_THROUGH, /* of both: all that follows goes through the memory */
    WIRE_KINDS
};

struct wire_frame {
    uint32_t magic;
    uint16_t version;
    uint16_t kind; /* enum wire_kind */
    uint32_t body_bytes;
    uint32_t count;      /* entries */
    uint32_t membership; /* by which the sender computes homes (keyspace.h) */
    uint32_t lost;       /* WIRE_LOST: the failed node */
    uint64_t sequence;   /* frames of this direction of this link, from 0 */
    uint64_t unused;
};
static_assert(sizeof(struct wire_frame) == 40, "peers read this by offset");

enum wire_flag {
    WIRE_STATE = 1,     /* of a pull and its answer: with the state */
    WIRE_LOCALIZED = 1, /* of a row: it answers the WIRE_LOCALIZE of this tag */
    /* with WIRE_UPDATE: the values are the gradient of one step, its rate and its size */
    WIRE_GRADIENT = 1,
    WIRE_ANSWERS = 2, /* of a row: it answers a sync */
    /* of a sync: an intent became active; of a row: its owner was lost, and your replica becomes it;
     * of WIRE_TOLD: the writer was lost, and the writes are yours */
    WIRE_BEGIN = 4,
    WIRE_END = 8,     /* of a sync: the last intent expired, the replica is gone */
    WIRE_UPDATE = 16, /* of a sync: the values are what was added to the replica */
    WIRE_VALUE = 32,  /* of a sync: the values are what the row is set to */
    WIRE_HOLDER = 64, /* of an answer: you are counted as a holder */
    /* with WIRE_BEGIN: the intent never ends, and moves no row; of an answer: you are counted so */
    WIRE_FOREVER = 128,
    WIRE_FLAGS = 255, /* all there are */
};

/* Who says it to whom. `owner` and `origin` are those of the entry. */
enum wire_route {
    WIRE_REQUEST,  /* `origin`, perhaps by way of others, to the owner */
    WIRE_REPLY,    /* `owner` to `origin` */
    WIRE_GIFT,     /* `origin` to the new `owner` */
    WIRE_NEWS,     /* `origin` about another `owner` */
    WIRE_OF_SHARD, /* `origin`, which is `owner`, too; it has no key */
};

/* Of a table without an optimizer a row with its state and a delta of updates are as long as the
 * values (../store/row_type.h). Values are as the table's element says, everything else is floats;
 * all of it is counted in units of four bytes. */
enum wire_values {
    WIRE_NO_VALUES,
    WIRE_ROW_UPDATES, /* as many floats as values */
    WIRE_A_ROW,       /* with its state */
    WIRE_MAYBE_A_ROW,
    WIRE_ROW_OR_VALUES, /* a row with WIRE_STATE, otherwise values */
    /* a delta with WIRE_UPDATE, or a step with WIRE_GRADIENT, too; a row with WIRE_VALUE;
     * otherwise nothing */
    WIRE_DELTA_OR_ROW,
    WIRE_TAGS, /* one at least */
};

/* Which techniques have it. */
enum wire_technique { WIRE_ALL, WIRE_MOVING, WIRE_REPLICATING };

/* All messages: M(name, route, values, without, technique, flags). `without`: the encoding that it
 * may have instead of WIRE_BINARY32. `flags`: all values that these may have, the most frequent one
 * first. Who adds a message adds a row, a case in dispatch.c, and what its role does, and raises
 * WIRE_VERSION.
 *
 *   PULL, PUSH, SET    a key's row, the update (a gradient and its `rate` and `size`), the new row
 *   LOCALIZE           the row itself is wanted at the origin
 *   PULLED ... STAYS   the answers; STAYS: to LOCALIZE: nothing moves
 *   ROW                the main copy, with its ownership. Without values if it was never written,
 *                      or if your replica equals it
 *   LOCATION           news of where a row is, to its home; and for each bit i of `version` that of
 *                      the key of this shard that is i + 1 behind it
 *   SYNC               between a node that wants a row or holds a replica, and the owner (round.h,
 *                      replica.h); the update or the new row, if a flag says so
 *   ANSWER             to a sync: WIRE_HOLDER or not; the row, unless the replica is fresh
 *   REFRESH            the row, for a holder
 *   RECALL             no other node holds it: send a sync, and the row will come
 *   ROUND              the end of a round's syncs and refreshes
 *   CLOCK_...          bounded staleness (clocks.h), of `clock`. The sender's updates made before
 *                      it have been sent; your replicas of its rows hold everything done before it;
 *                      a worker there waits for it
 *   REPAIR, HELD, OFFER   a node was lost (repair.h): the sender is in phase `clock` of loss `round`;
 *                      your request, or with WIRE_BEGIN your sync, is parked at a node that lives;
 *                      the sender has a replica of the lost owner's row
 *   SAVE               a row for who decides about it if its owner is lost (saves.h); without
 *                      values: forget the one that you have
 *   SAVED              with WIRE_BEGIN: acknowledge these saves, which become up to `clock` ns old; with
 *                      WIRE_END: they are here;
 *                      otherwise: of the rows that you gave me, the first `clock` are saved
 *   TOLD               writes that the sender has done for node `owner`, or the lost `owner` for you:
 *                      their tags, and the number of the first (once.h) */
#define WIRE_MESSAGES(M) \
    M(PULL, REQUEST, NO_VALUES, BINARY32, ALL, 0, WIRE_STATE) \
    M(PUSH, REQUEST, ROW_UPDATES, BINARY32, ALL, 0) \
    M(SET, REQUEST, A_ROW, BINARY32, ALL, 0) \
    M(LOCALIZE, REQUEST, NO_VALUES, BINARY32, ALL, 0) \
    M(PULLED, REPLY, ROW_OR_VALUES, BINARY32, ALL, 0, WIRE_STATE) \
    M(PUSHED, REPLY, NO_VALUES, BINARY32, ALL, 0) \
    M(WAS_SET, REPLY, NO_VALUES, BINARY32, ALL, 0) \
    M(STAYS, REPLY, NO_VALUES, BINARY32, ALL, 0) \
    M(ROW, GIFT, MAYBE_A_ROW, AS_REPLICA, MOVING, WIRE_ANSWERS, WIRE_LOCALIZED, WIRE_BEGIN) \
    M(LOCATION, NEWS, NO_VALUES, BINARY32, MOVING, 0) \
    M(SYNC, REQUEST, DELTA_OR_ROW, BINARY32, MOVING, WIRE_BEGIN, 0, WIRE_BEGIN | WIRE_FOREVER, \
      WIRE_END, WIRE_UPDATE, WIRE_END | WIRE_UPDATE, WIRE_VALUE, WIRE_END | WIRE_VALUE, \
      WIRE_UPDATE | WIRE_GRADIENT, WIRE_END | WIRE_UPDATE | WIRE_GRADIENT) \
    M(ANSWER, REPLY, MAYBE_A_ROW, ZEROS, REPLICATING, WIRE_HOLDER, 0, WIRE_HOLDER | WIRE_FOREVER) \
    M(REFRESH, REPLY, A_ROW, BINARY32, REPLICATING, 0) \
    M(RECALL, REPLY, NO_VALUES, BINARY32, REPLICATING, 0) \
    M(ROUND, OF_SHARD, NO_VALUES, BINARY32, MOVING, 0) \
    M(ROUND_DONE, OF_SHARD, NO_VALUES, BINARY32, MOVING, 0) \
    M(CLOCK_UPDATED, OF_SHARD, NO_VALUES, BINARY32, ALL, 0) \
    M(CLOCK_FRESH, OF_SHARD, NO_VALUES, BINARY32, ALL, 0) \
    M(CLOCK_AWAITED, OF_SHARD, NO_VALUES, BINARY32, ALL, 0) \
    M(REPAIR, OF_SHARD, NO_VALUES, BINARY32, MOVING, 0) \
    M(HELD, REPLY, NO_VALUES, BINARY32, MOVING, 0, WIRE_BEGIN) \
    M(OFFER, NEWS, NO_VALUES, BINARY32, MOVING, 0) \
    M(SAVE, NEWS, MAYBE_A_ROW, BINARY32, MOVING, 0) \
    M(SAVED, OF_SHARD, NO_VALUES, BINARY32, MOVING, 0, WIRE_BEGIN, WIRE_END) \
    M(TOLD, NEWS, TAGS, BINARY32, MOVING, 0, WIRE_BEGIN)

#define WIRE_NAME(name, ...) WIRE_##name,
enum wire_operation { WIRE_NONE, WIRE_MESSAGES(WIRE_NAME) WIRE_OPERATIONS };

enum { WIRE_FLAG_SETS = 10 };
struct wire_rule {
    const char *name;
    uint8_t route, values, without, technique; /* enums, as above */
    uint8_t flag_sets, flags[WIRE_FLAG_SETS];
};
extern const struct wire_rule wire_rules[WIRE_OPERATIONS];

enum { WIRE_SLACK_US_MAX = 100000 };

enum wire_encoding {
    WIRE_BINARY32,
    WIRE_ZEROS,      /* no values: the row was never written */
    WIRE_AS_REPLICA, /* no values: of a row, your replica of this version equals it */
    WIRE_ENCODINGS
};

struct wire_entry {
    uint8_t operation; /* enum wire_operation */
    uint8_t encoding;  /* enum wire_encoding, of the values */
    /* with term: what the sender knows of the owner; of requests, where this was routed to */
    uint16_t owner;
    uint16_t origin; /* the node whose worker asked */
    uint8_t hops;    /* how often it was forwarded; stops at 255 */
    uint8_t flags;   /* enum wire_flag */
    uint32_t length; /* floats that follow */
    union {
        /* of requests and their answers: names the operation at its origin */
        uint32_t tag;
        /* of WIRE_BEGIN: microseconds until the answer must leave, so that both can piggyback on
         * other frames, at each node that it comes to. */
        uint32_t slack_us;
        /* of WIRE_ROUND and WIRE_ROUND_DONE: which; of WIRE_REPAIR: the number of the loss */
        uint32_t round;
    };
    uint64_t key; /* 0 of WIRE_OF_SHARD */
    uint64_t term;
    union {
        /* of the main copy that a holder has, or is sent; of WIRE_TOLD: a number; of WIRE_LOCATION:
         * more keys */
        uint64_t version;
        int64_t clock; /* of WIRE_CLOCK_...: which; of WIRE_REPAIR: the phase */
        /* of WIRE_PUSH, where there is an optimizer (row_type.h) */
        struct {
            float rate, size;
        };
    };
};
static_assert(sizeof(struct wire_entry) == 40, "peers read this by offset");

/* Bytes of an entry with `length` floats. */
static inline size_t wire_entry_bytes(uint32_t length)
{
    return sizeof(struct wire_entry) + (((size_t)length * sizeof(float) + 7) & ~(size_t)7);
}

static inline float *wire_values(struct wire_entry *e)
{
    return (float *)(void *)(e + 1);
}

static inline const float *wire_values_const(const struct wire_entry *e)
{
    return (const float *)(const void *)(e + 1);
}

/* May a peer send this header? `body_max`: the largest body agreed. Returns NULL, or the reason why
 * not. */
const char *wire_check_frame(const struct wire_frame *, size_t body_max, uint64_t sequence);

/* Steps through the entries of a frame's body. */
struct wire_cursor {
    const unsigned char *at, *end;
    uint32_t left; /* entries */
};
static inline struct wire_cursor wire_cursor(const struct wire_frame *f, const void *body)
{
    const unsigned char *at = body;
    return (struct wire_cursor){at, at + f->body_bytes, f->count};
}

/* The next entry, complete within the body. NULL at the end, or if the entry is invalid: then *why
 * says what is wrong; otherwise *why is NULL. Operation, encoding and length have been checked, key
 * and tag have not. */
const struct wire_entry *wire_next(struct wire_cursor *, const char **why);

#endif
