/*
 * pacer.h - when a shard synchronizes: sends updates, refreshes and expired intents, for none of
 * which anybody waits.
 *
 * The objective: replicas as young as they can be with processor time that nobody else needs.
 *
 * A shard with a core of its own takes nobody's time: it synchronizes again after as long as the
 * last time took, rounds of others that we served included. That may be all of the time that it
 * has; what somebody waits for comes first in each turn. What changed meanwhile is said together.
 *
 * On a core that workers use, too, synchronizing takes at most a fifth of the time, and nothing is
 * sent twice that one message could carry. There the next time comes after the longest of
 *   - PACER_FACTOR times what the last one took, rounds of others that we served included: the
 *     shard's processor time, and what sending and receiving the frames takes (round_ns, kib_ns);
 *   - PACER_CLOCKS clocks of the fastest worker, at most PACER_CLOCKS_NS_MAX: a trainer uses a row
 *     once a clock at most. Where nobody has intents, or no clock has passed, it says nothing;
 *   - where rounds carry few intents, so long that the rounds' frames take one part in
 *     PACER_ROUNDS_FACTOR, at most PACER_ROUNDS_NS_MAX.
 *
 * Where rounds carry few intents, intents piggyback: among many nodes the keys of a clock have
 * almost as many owners as there are keys, and to most of these a round goes anyhow when we
 * synchronize. So intents that would become active before the synchronization after the next one
 * are acted on with this one (AdaPM, Section 4.2, looks two rounds ahead for the same reason), and
 * recalls wait for it. A round that piggybacks counts as the several that it stands for, when it is
 * judged whether rounds carry few. docs/design/pace.md shows what each term brings.
 *
 * Callers   round.c, backlog.c, replica.c, owner.c
 * Memory    16 bytes a worker
 * Waiting   never
 * Life      pacer_init, any use, pacer_fini
 */
#ifndef LOCUS_PROTOCOL_PACER_H
#define LOCUS_PROTOCOL_PACER_H

#include "locus.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PACER_FACTOR = 4,
    PACER_FACTOR_OWN = 1,           /* with a core of its own */
    PACER_CLOCKS = 8,               /* of the fastest worker, from one time to the next, */
    PACER_CLOCKS_NS_MAX = 8000000,  /*   but no longer than that for their sake */
    PACER_AHEAD_PAUSES = 2,         /* what begins so soon piggybacks */
    PACER_ROUNDS_FACTOR = 24,       /* where rounds carry few intents, */
    PACER_ROUNDS_NS_MAX = 64000000, /*   but no longer than that */
    /* of serving others, beyond what our own rounds took, that is waited for */
    PACER_SERVED_NS_MAX = 25000000,
    PACER_FEW_INTENTS = 4,    /* in a round that carries any, on average of */
    PACER_JUDGED_ROUNDS = 64, /*   so many: more can piggyback */
};

struct pacer {
    uint64_t due_ns;          /* not before that */
    uint64_t pause_ns;        /* at least, from one time to the next */
    uint64_t round_ns;        /* processor time of the platform for a round, at each end; */
    uint64_t kib_ns;          /*   and for a KiB of it */
    uint64_t cost_ns;         /* of synchronizing since the last time began, */
    uint64_t spent_rounds;    /*   in so many rounds of ours, */
    uint64_t served_ns;       /*   and of serving others' that was not yet paid for by waiting, */
    uint64_t served_at_ns;    /*   when it was last counted */
    uint64_t began_ns;        /* the last time */
    uint64_t lasts_ns;        /* the pause after it */
    uint64_t ahead_ns;        /* how long the clocks take that we look ahead */
    uint64_t clock_ns;        /* what a clock took, of the fastest worker; 0: none has passed yet */
    uint64_t clocked_ns;      /* the last time before which one had passed */
    uint64_t rounds, intents; /* rounds that carried any, since it was last judged whether */
    bool rounds_are_sparse;   /*   they carry few */
    bool piggybacks;          /* in this turn intents may piggyback */
    bool has_own_core;        /* the shard: no worker waits for the time that it takes */
    unsigned workers;
    /* [workers] clocks the last time; how many to look beyond the lookahead the next time */
    locus_clock *then, *ahead;
};

/* 0 or -ENOMEM. */
int pacer_init(struct pacer *, unsigned workers);
void pacer_fini(struct pacer *);

/* The configuration says how often rounds may be (max_rounds_per_second): then intents that begin
 * wait as well. */
static inline bool pacer_is_limited(const struct pacer *g)
{
    return g->pause_ns > 0;
}

/* May intents and recalls wait for a round that synchronizes, or begin with it? */
static inline bool pacer_piggybacks(const struct pacer *g)
{
    return g->rounds_are_sparse || pacer_is_limited(g);
}

static inline bool pacer_allows(const struct pacer *g, uint64_t now_ns)
{
    return now_ns >= g->due_ns;
}

/* Rounds that synchronize took so much processor time of the shard; they, and what answers them,
 * have so many bytes. */
void pacer_spent(struct pacer *, uint64_t cpu_ns, uint64_t rounds, uint64_t bytes);
/* The same for a frame of a peer's, which may have ended a round of its own. */
void pacer_served(struct pacer *, uint64_t now_ns, uint64_t cpu_ns, unsigned rounds,
                  uint64_t bytes);
/* A round begins that carries so many intents, at least one, and stands for so many rounds. */
void pacer_carries(struct pacer *, uint64_t intents, unsigned rounds);
/* We have synchronized, or could have with the rounds that we began. The clocks of the workers;
 * NULL: there are no intents. */
void pacer_pause(struct pacer *, uint64_t now_ns, const locus_clock *const *clock);

/* How far beyond the worker's lookahead intents piggyback, now that we synchronize and its clock is
 * `now`. What was expected of a worker that then paused, or was opened again, does not count. */
static inline locus_clock pacer_ahead(const struct pacer *g, unsigned worker, locus_clock now)
{
    locus_clock most = PACER_AHEAD_PAUSES * (now - g->then[worker]),
                ahead = g->ahead[worker] < most ? g->ahead[worker] : most;
    return ahead > 0 ? ahead : 0;
}

/* So long is what was brought to a peer recent: three quarters of a pause, if that was not an
 * exceptional one. */
static inline uint64_t pacer_recent_ns(const struct pacer *g)
{
    return (g->lasts_ns < PACER_ROUNDS_NS_MAX ? g->lasts_ns : PACER_ROUNDS_NS_MAX) / 4 * 3;
}

/* Of times in microseconds, modulo 2^32. */
static inline bool pacer_is_recent(const struct pacer *g, uint32_t us, uint32_t now_us)
{
    return (uint32_t)(now_us - us) < pacer_recent_ns(g) / 1000;
}

/* What so many eighths of the clocks ahead take, in microseconds. */
static inline uint64_t pacer_eighths_us(const struct pacer *g, unsigned eighths)
{
    return eighths * g->ahead_ns / 8000;
}

/* How long the answer to an intent can wait that piggybacks in this turn and starts so many
 * eighths beyond the lookahead. */
static inline uint64_t pacer_slack_us(const struct pacer *g, unsigned eighths)
{
    return g->piggybacks ? pacer_eighths_us(g, eighths) : 0;
}

#endif
