/*
 * decisions.h - what a shard has recently decided about keys, and why: for `locus explain`.
 *
 * Decisions are kept if the node serves metrics (metrics.h); otherwise a decision costs one branch.
 * All keys share a ring. A key about which somebody asked within DECISIONS_WATCH_NS also has a ring
 * of its own. So its next decisions are still there when they ask again, however much else is
 * decided meanwhile.
 *
 * Memory    40 bytes a decision: DECISIONS_KEPT, and DECISIONS_OF_KEY for each watched key
 * Waiting   never
 * Life      decisions_new, any use, decisions_free
 */
#ifndef LOCUS_PROTOCOL_DECISIONS_H
#define LOCUS_PROTOCOL_DECISIONS_H

#include "locus.h"

#include <stddef.h>
#include <stdint.h>

enum { DECISIONS_KEPT = 4096, DECISIONS_WATCHED_MAX = 8, DECISIONS_OF_KEY = 32 };
#define DECISIONS_WATCH_NS UINT64_C(60000000000)

/* `node` is the other node; the numbers are the ownership's term, or an intent's clocks. */
enum decision_kind {
    DECISION_ASKED = 1, /* we sent an intent to the owner, `node`: clocks `start` to `end` */
    DECISION_GAVE,      /* the row left for `node`, which owns it with this term */
    DECISION_CAME,      /* the row came here from `node`, ours with this term */
    DECISION_SHARED,    /* `node` holds a replica from now on */
    DECISION_COPIED,    /* we hold a replica of node's row */
    DECISION_UNSHARED,  /* `node` holds none any more */
    DECISION_RECALLED,  /* we recalled the replica of `node`, which alone wants the row */
    DECISION_STAYED,    /* `node` asked for the row itself and did not get it */
    DECISION_KINDS
};

enum decision_why {
    WHY_NONE,
    WHY_ONLY_INTENT, /* the other node alone intends it */
    WHY_LAST_INTENT, /* the other node is the last that intends it */
    WHY_LOCALIZED,   /* a worker of the other node asked, and nobody intends it */
    WHY_FOLLOWS,     /* with this technique a row goes to the node that intends it last */
    WHY_OWNER,       /* the owner intends it, too */
    WHY_OTHERS,      /* other nodes intend it, too */
    WHY_FOR_EVER,    /* the intent never ends: the row is copied, and does not move */
    WHY_NEVER_MOVES, /* with this technique rows are copied only */
    WHY_COUNT
};

struct decision {
    uint64_t ns;    /* 0: none */
    uint64_t index; /* of the key in its shard */
    union {
        uint64_t term;
        struct {
            locus_clock start, end;
        };
    };
    uint16_t node;
    uint8_t kind, why;
};

struct decisions;

struct decisions *decisions_new(void); /* NULL: no memory */
void decisions_free(struct decisions *);

void decisions_note(struct decisions *, const struct decision *);
/* The last decisions about the key, oldest first: at most DECISIONS_OF_KEY. The key is watched from
 * now on. */
size_t decisions_of(struct decisions *, uint64_t index, uint64_t now_ns,
                    struct decision out[DECISIONS_OF_KEY]);

#endif
