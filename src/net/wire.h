/*
 * wire.h - what travels between the same shard of two nodes: frames of entries.
 *
 *   frame = header (40 bytes), entries end to end
 *   entry = header (40 bytes), `length` binary32 values, zeros to a multiple of 8 bytes
 *
 * All little-endian, every field at the offset that the structs below give it; no I/O here. What
 * arrives is used only after wire_check_frame() and, entry by entry, wire_next(): every length is
 * compared with what is left.
 *
 * Callers   link.c (frames), the shard's actors (entries)
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
enum { WIRE_VERSION = 7 };

enum wire_kind {
    WIRE_ENTRIES,   /* `count` entries follow */
    WIRE_HEARTBEAT, /* nothing follows: the sender lives, and nothing changed */
    /* the sender closes in order, with all others: the end of the connection is no failure */
    WIRE_BYE,
    WIRE_LOST, /* the sender leaves because node `lost` failed; `body_bytes` of text say why */
    WIRE_KINDS
};

struct wire_frame {
    uint32_t magic;
    uint16_t version;
    uint16_t kind; /* enum wire_kind */
    uint32_t body_bytes;
    uint32_t count;    /* entries */
    uint32_t view;     /* the cluster view by which the sender computes homes */
    uint32_t lost;     /* WIRE_LOST: the failed node */
    uint64_t sequence; /* frames of this direction of this link, from 0 */
    uint64_t unused;
};
static_assert(sizeof(struct wire_frame) == 40, "peers read this by offset");

enum wire_operation {
    /* Requests, from the origin, through nodes that know better, to the owner. */
    WIRE_PULL = 1, /* no values */
    WIRE_PUSH,     /* the update */
    WIRE_SET,      /* the new row */
    WIRE_LOCALIZE, /* no values: the row itself is wanted at the origin */
    /* Answers, from the owner to the origin. */
    WIRE_PULLED, /* the row */
    WIRE_PUSHED,
    WIRE_WAS_SET,
    WIRE_STAYS, /* to WIRE_LOCALIZE: nothing moves */
    /* A row's main copy, with its ownership: values, or none when it was never written, or your
     * replica is as good. */
    WIRE_ROW,
    /* News of where a row is, to its home. */
    WIRE_LOCATION,
    /* Rounds (round.h, replica.h): from a node that wants a row, or holds a replica, to the owner;
     * and back. */
    WIRE_SYNC,    /* WIRE_BEGIN, WIRE_END; the update or the new row, if its flag says so */
    WIRE_ANSWER,  /* to an entry: WIRE_HOLDER or not; the row, unless the replica is fresh */
    WIRE_REFRESH, /* the row */
    WIRE_RECALL,  /* nobody else holds it: send an entry, and the row will come */
    WIRE_ROUND,   /* the end of a round's entries */
    WIRE_ROUND_DONE,
    /* Bounded staleness (clocks.h): `version` is a clock. The sender's updates made before it have
     * been sent; your replicas of its rows hold everything done before it; a worker there waits for
     * it. */
    WIRE_CLOCK_UPDATED,
    WIRE_CLOCK_FRESH,
    WIRE_CLOCK_AWAITED,
    WIRE_OPERATIONS
};

enum wire_flag {
    WIRE_LOCALIZED = 1, /* of a row: it answers the WIRE_LOCALIZE of this tag */
    WIRE_ANSWERS = 2,   /* of a row: it answers an entry */
    WIRE_BEGIN = 4,     /* of an entry: an intent became active */
    WIRE_END = 8,       /* of an entry: the last one expired, the replica is gone */
    WIRE_UPDATE = 16,   /* of an entry: the values are what was added to the replica */
    WIRE_VALUE = 32,    /* of an entry: the values are what the row is set to */
    WIRE_HOLDER = 64,   /* of an answer: you are counted as a holder */
    /* with WIRE_BEGIN: the intent never ends, and moves no row; of an answer: so are you counted */
    WIRE_FOREVER = 128,
    WIRE_FLAGS = 255, /* all there are */
};

enum { WIRE_SLACK_US_MAX = 100000 };

enum wire_encoding {
    WIRE_BINARY32,
    WIRE_ZEROS,      /* no values: of an answer, that the row was never written */
    WIRE_AS_REPLICA, /* no values: of a row, that your replica of this version is it */
    WIRE_ENCODINGS
};

struct wire_entry {
    uint8_t operation; /* enum wire_operation */
    uint8_t encoding;  /* enum wire_encoding, of the values */
    /* with term: the knowledge of the owner by which this was routed, or what the sender knows */
    uint16_t owner;
    uint16_t origin; /* the node whose worker asked */
    uint8_t hops;    /* how often it was forwarded; stays at 255 */
    uint8_t flags;   /* enum wire_flag */
    uint32_t length; /* floats that follow */
    union {
        /* of requests and their answers: names the operation at its origin */
        uint32_t tag;
        /* of WIRE_BEGIN: microseconds that may pass until its answer leaves, so that both can wait
         * for frames that go there anyhow. A node that forwards it takes half of them. */
        uint32_t slack_us;
        /* of WIRE_ROUND and WIRE_ROUND_DONE: which */
        uint32_t round;
    };
    uint64_t key; /* of WIRE_ROUND and WIRE_ROUND_DONE: any of the shard's; of clocks 0 */
    uint64_t term;
    uint64_t version;
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

/* Is this a header that a peer may send? `body_max`: the largest body agreed. NULL, or the reason
 * why not. */
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

/* The next entry, whole within the body; NULL at the end or when it is not: then *why says what is
 * wrong, else NULL. Operation, encoding and length have been checked, key and tag have not. */
const struct wire_entry *wire_next(struct wire_cursor *, const char **why);

#endif
