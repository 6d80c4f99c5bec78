/*
 * pacer.h - when a shard synchronizes: that is, sends updates, refreshes and expired intents, for
 * which no thread waits.
 *
 * The objective: replicas as young as possible, with processor time that no other thread needs.
 *
 * A shard with a core of its own takes no time from other threads. After each synchronization it
 * pauses for as long as that took, and as long again for the rounds of others that it serves, which
 * take about as much. That may use all of the core; but each turn begins with requests, intents and
 * answers, for which threads do wait. All changes of a pause are sent together.
 *
 * On a core that workers also use, synchronizing takes about a fifth of the time at most, and
 * nothing is sent twice that one message could carry. There the pause is the longest of
 *   - PACER_FACTOR times what the last synchronization took: the shard's processor time, and the
 *     time to send and receive the frames (round_ns, kib_ns). Half of that is for serving others;
 *   - PACER_CLOCKS clocks of the fastest worker, at most PACER_CLOCKS_NS_MAX: a trainer uses a row
 *     at most once a clock. Without intents, or if no clock has passed, this term is 0;
 *   - if rounds carry few intents: the time of which the rounds' frames take one part in
 *     PACER_ROUNDS_FACTOR, at most PACER_ROUNDS_NS_MAX.
 *
 * If rounds carry few intents, intents piggyback. With many nodes the keys of a clock have almost
 * as many owners as there are keys, and a synchronization sends a round to most of these owners
 * anyway. So intents that would become active before the synchronization after the next one are
 * acted on with this one (AdaPM, Section 4.2, looks two rounds ahead for the same reason), and
 * recalls wait for it. A round with piggybacking intents counts as the several rounds that it
 * replaces when the pacer judges whether rounds carry few. lab/design/pace.md shows what each term
 * brings.
 *
 * Memory    16 bytes a worker
 * Waiting   never
 * Life      pacer_init, any use, pacer_fini
 */
#ifndef LOCUS_INTENTS_PACER_H
#define LOCUS_INTENTS_PACER_H

#include "locus.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PACER_FACTOR = 8,
    PACER_FACTOR_OWN = 2,           /* with a core of its own */
    PACER_CLOCKS = 8,               /* of the fastest worker, between synchronizations, */
    PACER_CLOCKS_NS_MAX = 8000000,  /*   but at most this long */
    PACER_WRITES_QUARTERS = 8,      /* of a pause: so long is a writer of a row not refreshed */
    PACER_AHEAD_PAUSES = 2,         /* intents that begin within so many piggyback */
    PACER_ROUNDS_FACTOR = 24,       /* if rounds carry few intents, */
    PACER_ROUNDS_NS_MAX = 64000000, /*   but at most this long */
    PACER_FEW_INTENTS = 4,          /* on average in rounds that carry any, */
    PACER_JUDGED_ROUNDS = 64,       /*   over so many rounds: then more can piggyback */
};

struct pacer {
    uint64_t due_ns;       /* when the next synchronization is due */
    uint64_t pause_ns;     /* the least pause between synchronizations */
    uint64_t round_ns;     /* processor time of the platform for a round, at each end; */
    uint64_t kib_ns;       /*   and for a KiB of it */
    uint64_t cost_ns;      /* of synchronizing since the last one began, */
    uint64_t spent_rounds; /*   in so many rounds */
    uint64_t began_ns;     /* the last synchronization */
    uint64_t lasts_ns;     /* the pause after it */
    uint64_t ahead_ns;     /* how long the clocks that we look ahead take */
    uint64_t clock_ns;     /* how long a clock of the fastest worker took; 0: none has passed yet */
    uint64_t clocked_ns;   /* the last synchronization before which one had passed */
    uint64_t rounds, intents; /* rounds that carried any since the last judgement whether */
    bool rounds_are_sparse;   /*   they carry few */
    bool piggybacks;          /* intents may piggyback in this turn */
    bool has_own_core;        /* the shard: no worker needs the time that it takes */
    unsigned workers;
    /* [workers] clocks at the last synchronization; how far to look beyond the lookahead at the
     * next */
    locus_clock *then, *ahead;
};

/* 0 or -ENOMEM. */
int pacer_init(struct pacer *, unsigned workers);
void pacer_fini(struct pacer *);

/* An experiment limits the rounds (LOCUS_LAB): then intents that begin wait, too. */
static inline bool pacer_is_limited(const struct pacer *p)
{
    return p->pause_ns > 0;
}

/* May intents and recalls wait for a round that synchronizes, or be sent ahead with it? */
static inline bool pacer_piggybacks(const struct pacer *p)
{
    return p->rounds_are_sparse || pacer_is_limited(p);
}

static inline bool pacer_allows(const struct pacer *p, uint64_t now_ns)
{
    return now_ns >= p->due_ns;
}

/* Rounds that synchronize took `cpu_ns` of the shard's processor time; they and their answers have
 * `bytes`. */
void pacer_spent(struct pacer *, uint64_t cpu_ns, uint64_t rounds, uint64_t bytes);
/* A round begins that carries `intents` intents, at least one, and replaces `rounds` rounds. */
void pacer_carries(struct pacer *, uint64_t intents, unsigned rounds);
/* We have synchronized, or could have with the rounds that we began. `clock`: the workers'; NULL:
 * there are no intents. */
void pacer_pause(struct pacer *, uint64_t now_ns, const locus_clock *const *clock);

/* How far beyond the worker's lookahead intents piggyback, now that we synchronize and its clock is
 * `now`. The expectation is cut if the worker has paused or was opened again since. */
static inline locus_clock pacer_ahead(const struct pacer *p, unsigned worker, locus_clock now)
{
    locus_clock most = PACER_AHEAD_PAUSES * (now - p->then[worker]),
                ahead = p->ahead[worker] < most ? p->ahead[worker] : most;
    return ahead > 0 ? ahead : 0;
}

/* How long a row that was sent to a peer counts as recent: three quarters of a pause, unless the
 * pause was exceptional. */
static inline uint64_t pacer_recent_ns(const struct pacer *p)
{
    return (p->lasts_ns < PACER_ROUNDS_NS_MAX ? p->lasts_ns : PACER_ROUNDS_NS_MAX) / 4 * 3;
}

/* `writes`: so does the peer, and the answer to its next update brings the row; but not later than
 * after two pauses. Times are in microseconds, modulo 2^32. */
static inline bool pacer_is_recent(const struct pacer *p, bool writes, uint32_t us, uint32_t now_us)
{
    uint64_t ns = writes ? pacer_recent_ns(p) / 3 * PACER_WRITES_QUARTERS : pacer_recent_ns(p);
    return (uint32_t)(now_us - us) < ns / 1000;
}

/* How long the answer to an intent can wait that piggybacks in this turn: half of the clocks ahead,
 * as if all started in the middle. */
static inline uint64_t pacer_slack_us(const struct pacer *p)
{
    return p->piggybacks ? p->ahead_ns / 2000 : 0;
}

#endif
