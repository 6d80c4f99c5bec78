/*
 * lookahead.h - when to act on an intent: AdaPM, Section 4.2 and Algorithm 1.
 *
 * Acting on an intent takes a round of communication. So everything that a worker could reach
 * before the end of the round after this one must be acted on now. The number of clocks until then
 * is taken to follow a Poisson distribution, whose rate is estimated from past rounds: D is the
 * number of clocks that the worker passed during the last round, L the smoothed estimate. Act on
 * intents that start before the current clock plus Q(2 max(L, D), p), where Q is the quantile of
 * the Poisson distribution.
 *
 * If a clock takes many rounds, D is 1 at the end of some rounds and 0 at the others. The algorithm
 * ignores rounds with D = 0, so that a pausing worker is not taken for a slow one. But then the
 * estimate never falls below one clock a round, and keys come nine clocks early, however long a
 * clock is. So here the rounds without a clock are counted, and the next D is divided by their
 * number: a pause, however long, counts as one observation.
 *
 * (If rounds carry few intents, more intents piggyback on rounds that synchronize: pacer.h.)
 *
 * A worker's lookahead towards one peer is estimated from the rounds with that peer. Acting late
 * costs more than acting early, so the widest lookahead is used, of all peers that had a round
 * within the last second.
 *
 * The margin is a factor by which intents are acted on further ahead. AdaPM assumes that acting
 * takes one round: to the owner and back. But an intent may be forwarded because the owner has
 * changed, wait there, and move a row from a third node. If rounds are short compared with that, a
 * lookahead of two rounds is not enough. So the margin is controlled by the goal itself, that one
 * intent in 10,000 is late: each 0.1 ms in which an access was late widens it, each intent that
 * began narrows it, and it comes to rest where the goal is met. While no access is late it is 1.
 *
 * On shared cores the margin stays 1: accesses are late there because a thread waits for a core,
 * and acting earlier does not help. It also stays 1 with relocation alone, because a row that comes
 * earlier is taken from other nodes earlier.
 *
 * Memory    the caller's
 * Waiting   never
 * Life      lookahead_init, margin_init, any use
 */
#ifndef LOCUS_INTENTS_LOOKAHEAD_H
#define LOCUS_INTENTS_LOOKAHEAD_H

#include "locus.h"

#include <stdbool.h>

#define LOOKAHEAD_SMOOTHING 0.1 /* Section 4.2.3: these three need no tuning */
#define LOOKAHEAD_QUANTILE 0.9999
#define LOOKAHEAD_FIRST_RATE 10.0
/* However long a clock is, rows whose intent starts with the next clock must be here when it
 * begins. */
#define LOOKAHEAD_MIN 2
#define LOOKAHEAD_MEMORY_NS UINT64_C(1000000000)

/* The least k with P(X <= k) >= LOOKAHEAD_QUANTILE, X ~ Poisson(mean). Exact up to a mean of 100;
 * above that it may differ by one. */
locus_clock lookahead_quantile(double mean);

/* One worker and one peer. */
struct lookahead {
    double rate;              /* L: clocks a round */
    locus_clock at_start;     /* the clock at the start of the round under way */
    uint64_t rounds_of_clock; /* rounds that ended since the last one in which a clock passed */
    locus_clock lookahead;    /* by the last completed round */
};

void lookahead_init(struct lookahead *);
void lookahead_begin(struct lookahead *, locus_clock now);
/* The round that began with lookahead_begin is complete. */
void lookahead_end(struct lookahead *, locus_clock now);

/* ---- the margin ---- */

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
