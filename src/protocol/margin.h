/*
 * margin.h - how many times as far ahead as a round says (lookahead.h) intents are acted on.
 *
 * AdaPM takes acting for a round: to the owner and back. But an intent may be forwarded to an owner
 * that has changed, wait there, and move a row from a third node. Where rounds are short beside
 * that, two of them are too little. So the goal is taken as it stands, that of 10,000 intents one
 * is late: each 0.1 ms in which one was late widens the margin, each that began narrows it, and it
 * comes to rest where the goal is met. While nobody is late it is 1.
 *
 * On shared cores it stays 1: who is late there waits for a core, and acting earlier does not help.
 * So it does with relocation alone, where a row that comes earlier is taken from others earlier.
 *
 * Callers   origin.c: late; shard.c: began; round.c: the rest
 * Memory    the caller's
 * Waiting   never
 * Life      margin_init, any use
 */
#ifndef LOCUS_PROTOCOL_MARGIN_H
#define LOCUS_PROTOCOL_MARGIN_H

#include "locus.h"

#include <stdbool.h>

#define MARGIN_STEP 0.25
#define MARGIN_MAX 8.0

struct margin {
    double factor, most; /* 1 to most */
    double begun;        /* intents since it was last adjusted */
    bool was_late;       /* an access, since then */
};

/* 1 for ever, or up to MARGIN_MAX. */
void margin_init(struct margin *, bool may_widen);
static inline void margin_began(struct margin *m)
{
    m->begun++;
}
static inline void margin_late(struct margin *m)
{
    m->was_late = true;
}
/* Each 0.1 ms or so. */
void margin_adjust(struct margin *);
locus_clock margin_of(const struct margin *, locus_clock lookahead);

#endif
