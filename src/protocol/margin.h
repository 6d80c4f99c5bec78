/*
 * margin.h - a factor by which intents are acted on further ahead than lookahead.h says.
 *
 * AdaPM assumes that acting takes one round: to the owner and back. But an intent may be forwarded
 * because the owner has changed, wait there, and move a row from a third node. If rounds are short
 * compared with that, a lookahead of two rounds is not enough. So the margin is controlled by the
 * goal itself, that one intent in 10,000 is late: each 0.1 ms in which an access was late widens
 * the margin, each intent that began narrows it, and it comes to rest where the goal is met. While
 * no access is late it is 1.
 *
 * On shared cores the margin stays 1: accesses are late there because a thread waits for a core,
 * and acting earlier does not help. It also stays 1 with relocation alone, because a row that comes
 * earlier is taken from other nodes earlier.
 *
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
    double begun;        /* intents that began since the last adjustment */
    bool was_late;       /* an access was late since then */
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
/* Called about every 0.1 ms. */
void margin_adjust(struct margin *);
locus_clock margin_of(const struct margin *, locus_clock lookahead);

#endif
