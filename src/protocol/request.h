/*
 * request.h - a worker's request to a shard: to access keys of that shard whose rows are not here.
 *
 * The request's number and the item's position are the tag of each entry on the wire, so an answer
 * finds the place for its values without a look-up. The generation distinguishes the awaited answer
 * from a late or invented one.
 *
 * Memory    the worker's pool; items are allocated with it and touched when used
 * Waiting   never here
 * Life      its worker's while it is free or being filled, the shard's from mailbox_put() until it
 *           is completed
 */
#ifndef LOCUS_PROTOCOL_REQUEST_H
#define LOCUS_PROTOCOL_REQUEST_H

#include "locus.h"

struct operation;

enum {
    REQUEST_ITEM_BITS = 10,
    REQUEST_NUMBER_BITS = 8,
    REQUEST_WORKER_BITS = 10,
    REQUEST_GENERATION_BITS = 4,
    REQUEST_ITEMS_MAX = 1 << REQUEST_ITEM_BITS,
    REQUEST_NUMBERS_MAX = 1 << REQUEST_NUMBER_BITS,
    REQUEST_GENERATIONS = 1 << REQUEST_GENERATION_BITS,
};

enum request_kind {
    REQUEST_PULL,
    REQUEST_PULL_STATE, /* the row with its state */
    REQUEST_PUSH,
    REQUEST_SET,
    REQUEST_SET_STATE, /* likewise */
    REQUEST_LOCALIZE,
    /* Without items. They are complete when this node's updates are in the main copies; when what
     * the node owns is in all replicas; when what this node changed before is in the main copies,
     * whatever others change meanwhile; when what was done before `clock` is in our rows. */
    REQUEST_FLUSH_UPDATES,
    REQUEST_FLUSH_REPLICAS,
    REQUEST_FLUSH_EARLIER,
    REQUEST_CLOCK,
};

static inline bool request_pulls(enum request_kind kind)
{
    return kind <= REQUEST_PULL_STATE;
}

static inline bool request_sets(enum request_kind kind)
{
    return kind == REQUEST_SET || kind == REQUEST_SET_STATE;
}

static inline bool request_writes(enum request_kind kind)
{
    return kind == REQUEST_PUSH || request_sets(kind);
}

/* Worker, request and item in one number: a tag without its generation. */
typedef uint32_t request_place;
#define REQUEST_NOWHERE UINT32_MAX
#define REQUEST_TOLD (UINT32_MAX - 1) /* in a repair: of an item that a lost node has done */

enum request_item_state { ITEM_NEW, ITEM_ASKED, ITEM_WAITS, ITEM_DONE };

struct request_item {
    locus_key key;
    float *values; /* to be filled or sent; NULL for localize */
    /* The shard's. */
    request_place next; /* the next item that waits for the same key */
    uint16_t peer;      /* the node that we asked */
    uint16_t state;     /* enum request_item_state; the worker sets ITEM_NEW */
};

struct request {
    struct operation *operation;
    enum request_kind kind;
    uint16_t worker;
    uint16_t number; /* in the worker's pool */
    uint8_t generation;
    /* the shard's: the request was taken on; its interval (clocks.h). The worker sets false */
    bool is_taken, is_later;
    locus_clock clock; /* REQUEST_CLOCK */
    bool is_counted;   /* the worker's: its keys are counted as under way */
    uint32_t count;
    uint32_t sent, answered; /* the shard's: items taken on so far, done so far */
    uint64_t began_ns;       /* the shard's: when it took the request on */
    int busy;                /* atomic: 1 from taking it out of the pool until it is completed */
    struct request_item *item;
};

static inline uint32_t request_tag(const struct request *r, uint32_t item)
{
    uint32_t tag = r->generation;
    tag = tag << REQUEST_WORKER_BITS | r->worker;
    tag = tag << REQUEST_NUMBER_BITS | r->number;
    return tag << REQUEST_ITEM_BITS | item;
}

static inline request_place request_place_of(const struct request *r, uint32_t item)
{
    return request_tag(r, item) & ((UINT32_C(1) << (32 - REQUEST_GENERATION_BITS)) - 1);
}

static inline uint32_t request_tag_item(uint32_t tag)
{
    return tag & (REQUEST_ITEMS_MAX - 1);
}

static inline uint32_t request_tag_number(uint32_t tag)
{
    return tag >> REQUEST_ITEM_BITS & (REQUEST_NUMBERS_MAX - 1);
}

static inline uint32_t request_tag_worker(uint32_t tag)
{
    return tag >> (REQUEST_ITEM_BITS + REQUEST_NUMBER_BITS) & ((1u << REQUEST_WORKER_BITS) - 1);
}

#endif
