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
    /* [workers] clocks at the last synchronization; how far beyond the lookahead at the next */
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

/*
 * When to act on an intent: AdaPM, Section 4.2 and Algorithm 1.
 *
 * Acting on an intent takes a round of communication. So everything that a worker could reach before
 * the end of the round after this one must be acted on now. The number of clocks until then is taken
 * to follow a Poisson distribution, whose rate is estimated from past rounds: D is the number of
 * clocks that the worker passed during the last round, L the smoothed estimate. Act on intents that
 * start before the current clock plus Q(2 max(L, D), p), where Q is the quantile of the Poisson
 * distribution.
 *
 * If a clock takes many rounds, D is 1 at the end of some rounds and 0 at the others. The algorithm
 * ignores rounds with D = 0, so that a pausing worker is not taken for a slow one. But then the
 * estimate never falls below one clock a round, and keys come nine clocks early, however long a
 * clock is. So here the rounds without a clock are counted, and the next D is divided by their
 * number: a pause, however long, counts as one observation.
 *
 * A worker's lookahead towards one peer is estimated from the rounds with that peer. Acting late
 * costs more than acting early, so the widest lookahead is used, of all peers that had a round
 * within the last second.
 */

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
/* The round that began at clock `at_start` is complete. */
void lookahead_end(struct lookahead *, locus_clock now);

/*
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
 */

#define MARGIN_STEP 0.25
#define MARGIN_MAX 8.0

struct margin {
    double factor, most; /* 1 to most */
    double begun;        /* intents that began since the last adjustment */
    bool was_late;       /* an access was late since then */
};

/* 1 for ever, or up to MARGIN_MAX. */
void margin_init(struct margin *, bool may_widen);
/* Called about every 0.1 ms. */
void margin_adjust(struct margin *);
locus_clock margin_of(const struct margin *, locus_clock lookahead);

#endif
