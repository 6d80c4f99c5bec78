/*
 * decisions.h - what a shard has lately decided about keys, and why: for `locus explain`.
 *
 * Kept where the node serves metrics (metrics.h); elsewhere a decision costs a branch. All keys
 * share a ring. A key that somebody has asked about within DECISIONS_WATCH_NS also has one of its
 * own, so that its next decisions are still there when they ask again, however much else is decided
 * meanwhile.
 *
 * Callers   owner.c, handover.c, replica.c note; look.c reads. The shard's thread
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

/* `node` is the other one; the numbers: the ownership's term, or an intent's clocks. */
enum decision_kind {
    DECISION_ASKED = 1, /* an intent of ours asks its owner, `node`: clocks `start` to `end` */
    DECISION_GAVE,      /* the row left for `node`, which owns it with this term */
    DECISION_CAME,      /* the row came here from `node`, ours with this term */
    DECISION_SHARED,    /* `node` holds a replica from now on */
    DECISION_COPIED,    /* we hold one of node's */
    DECISION_UNSHARED,  /* `node` holds none any more */
    DECISION_RECALLED,  /* `node` is told that it alone wants the row */
    DECISION_STAYED,    /* `node` asked for the row itself, and did not get it */
    DECISION_KINDS
};

enum decision_why {
    WHY_NONE,
    WHY_ONLY_INTENT, /* the other node alone intends it */
    WHY_LAST_INTENT, /* of those who did the other node is the last */
    WHY_LOCALIZED,   /* a worker of the other node asked, and nobody intends it */
    WHY_FOLLOWS,     /* with this technique a row goes to whoever intends it last */
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
/* The last ones about the key, oldest first: at most DECISIONS_OF_KEY. It is watched from now
 * on. */
size_t decisions_of(struct decisions *, uint64_t index, uint64_t now_ns,
                    struct decision out[DECISIONS_OF_KEY]);

#endif
