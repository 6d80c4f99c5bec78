/*
 * events.h - what has recently happened to the keys of a shard, and why: for `locus explain`,
 * `locus trace`, and the hottest keys.
 *
 * The shard stores each into a ring, over the oldest, and waits for nobody; a reader that is too
 * slow learns how many it has lost.
 *
 * Callers   events_note the shard's thread; readers any, each with an events_reader of its own
 * Memory    40 bytes an event, EVENTS_KEPT of them
 * Waiting   never
 * Life      events_new, any use, free
 */
#ifndef LOCUS_PROTOCOL_EVENTS_H
#define LOCUS_PROTOCOL_EVENTS_H

#include "locus.h"

#include <stddef.h>
#include <stdint.h>

enum { EVENTS_KEPT = 1 << 16 };

/* `node` is the other node; the numbers are the ownership's term, or an intent's clocks. */
enum key_event_kind {
    /* Decisions, of which `locus explain` tells. */
    EVENT_ASKED = 1,  /* we sent an intent to the owner, `node`: clocks `start` to `end` */
    EVENT_GAVE,       /* the row left for `node`, which owns it with this term */
    EVENT_CAME,       /* the row came here from `node`, ours with this term */
    EVENT_SHARED,     /* `node` holds a replica from now on */
    EVENT_REPLICATED, /* we hold a replica of node's row */
    EVENT_UNSHARED,   /* `node` holds none any more */
    EVENT_RECALLED,   /* we recalled the replica of `node`, which alone wants the row */
    EVENT_STAYED,     /* `node` asked for the row itself and did not get it */
    EVENT_DECISIONS,  /* how many kinds these are, and one */
    EVENT_DROPPED = EVENT_DECISIONS, /* our replica of node's row has ended */
    EVENT_INTENDED,                  /* an intent of ours has begun: clocks `start` to `end` */
    EVENT_EXPIRED,                   /* the last of ours that will end has ended */
    EVENT_KEPT,                      /* we intend it for ever, from now on */
    EVENT_UNKEPT,                    /* no longer */
    EVENT_PULLED,                    /* a worker's pull left for `node` */
    EVENT_PUSHED,                    /* a push or set */
    EVENT_WAITED, /* of no key: so many workers, `term`, wait for clocks from now on */
    EVENT_KINDS
};

enum key_event_why {
    WHY_NONE,
    WHY_ONLY_INTENT, /* the other node alone intends it */
    WHY_LAST_INTENT, /* the other node is the last that intends it */
    WHY_LOCALIZED,   /* a worker of the other node asked, and nobody intends it */
    WHY_FOLLOWS,     /* with this technique a row goes to the node that intends it last */
    WHY_OWNER,       /* the owner intends it, too */
    WHY_OTHERS,      /* other nodes intend it, too */
    WHY_FOR_EVER,    /* the intent never ends: the row is replicated, and does not move */
    WHY_NEVER_MOVES, /* with this technique rows are replicated only */
    WHY_COUNT
};

extern const char *const event_name[EVENT_KINDS], *const event_reason[WHY_COUNT];

#define EVENT_OF_NO_KEY UINT64_MAX
struct key_event {
    uint64_t ns;
    uint64_t index; /* of the key in its shard; EVENT_OF_NO_KEY */
    union {
        uint64_t term;
        struct {
            locus_clock start, end;
        };
    };
    uint16_t node;
    uint8_t kind, why;
};

struct key_events;

struct key_events *events_new(void); /* from malloc; NULL: no memory */
void events_note(struct key_events *, const struct key_event *);

/* Begins with the oldest event that is there, unless `next` says otherwise. */
struct events_reader {
    const struct key_events *of; /* NULL: has none */
    uint64_t next, lost; /* the next event's number; how many were gone before they were read */
};
/* The next events, oldest first, at most `max`. Returns how many; 0: there is none now. */
size_t events_read(struct events_reader *, struct key_event *out, size_t max);

#endif
