/*
 * lookahead.h - when to act on an intent: AdaPM, Section 4.2 and Algorithm 1.
 *
 * Acting takes a round of communication; whatever a worker could reach before the round after this
 * one completes must be acted on now. How many clocks that is follows a Poisson distribution whose
 * rate is estimated from past rounds: while a round was under way the worker passed D clocks; L is
 * the smoothed estimate. So act on intents that start before the present clock plus Q(2 max(L, D),
 * p), Q the quantile of the Poisson distribution.
 *
 * Where a clock takes many rounds, D is 1 at the end of some rounds and 0 at the others. The
 * algorithm ignores the latter, so that a worker that pauses is not taken for a slow one. But then
 * its estimate never falls below one clock a round, and keys come nine clocks early, however long a
 * clock is. So here the rounds that passed without a clock are counted, and divide the next D: a
 * pause, however long, weighs as one observation.
 *
 * (Where rounds carry few intents, more of them piggyback with rounds that synchronize: pacer.h.)
 *
 * A worker's lookahead towards one peer is estimated by the rounds with that peer. Acting late
 * costs more than acting early, so the widest lookahead counts of all peers that had a round within
 * the last second.
 *
 * Callers   round.c: start and end of rounds, lookaheads
 * Memory    the caller's
 * Waiting   never
 * Life      lookahead_init, any use
 */
#ifndef LOCUS_PROTOCOL_LOOKAHEAD_H
#define LOCUS_PROTOCOL_LOOKAHEAD_H

#include "locus.h"

#define LOOKAHEAD_SMOOTHING 0.1 /* Section 4.2.3: these three need no tuning */
#define LOOKAHEAD_QUANTILE 0.9999
#define LOOKAHEAD_FIRST_RATE 10.0
/* However long a clock is, what starts with the next one must be here when it comes. */
#define LOOKAHEAD_MIN 2
#define LOOKAHEAD_MEMORY_NS UINT64_C(1000000000)

/* The least k with P(X <= k) >= LOOKAHEAD_QUANTILE, X ~ Poisson(mean). Exact up to a mean of 100;
 * above it may be one more or less. */
locus_clock lookahead_quantile(double mean);

/* One worker and one peer. */
struct lookahead {
    double rate;              /* L: clocks a round */
    locus_clock at_start;     /* of the round under way */
    uint64_t rounds_of_clock; /* that ended since the last one in which a clock passed */
    locus_clock lookahead;    /* of the last completed round */
};

void lookahead_init(struct lookahead *);
void lookahead_begin(struct lookahead *, locus_clock now);
/* A round is complete that began with lookahead_begin. */
void lookahead_end(struct lookahead *, locus_clock now);

#endif
