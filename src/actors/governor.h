/*
 * governor.h - when a shard synchronizes: updates, refreshes and expired intents, none of which anybody waits for.
 *
 * No sooner than GOVERNOR_FACTOR times the processor time after the last time that that took, rounds of others that we
 * served included: so synchronizing leaves the cores to the trainers. With many peers most of that time is not the shard's
 * but what sending and receiving frames takes: round_ns, kib_ns.
 *
 * Also: what rides along. Among many nodes the keys of a clock have almost as many owners as there are keys, and each
 * intent that becomes active would have a round of its own. To most of these owners a round goes anyhow when we synchronize;
 * intents that would become active before the synchronization after the next one are acted on with this one. (Algorithm 1
 * of AdaPM, Section 4.2, looks two rounds ahead for the same reason: what is not said with this one is said with the next,
 * which is over one later.) A replica is refreshed up to twice more for that. Where rounds carry many intents as it is, that
 * would buy nothing, and nothing rides along; where a clock is longer than a pause, next to nothing does.
 *
 * Callers   rounds.c
 * Memory    16 bytes a worker
 * Waiting   never
 * Life      governor_init, any use, governor_fini
 */
#ifndef LOCUS_ACTORS_GOVERNOR_H
#define LOCUS_ACTORS_GOVERNOR_H

#include "locus.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GOVERNOR_FACTOR = 4,
    GOVERNOR_SERVED_NS_MAX = 25000000, /* of serving others, beyond what our own rounds took, that is waited for */
    GOVERNOR_FEW_INTENTS = 4,          /* in a round that carries any, on average of */
    GOVERNOR_JUDGED_ROUNDS = 64,       /*   so many: more can ride along */
};

struct governor {
    uint64_t due_ns;          /* not before that */
    uint64_t pause_ns;        /* at least, from one time to the next */
    uint64_t round_ns;        /* processor time of the platform for a round, at each end; */
    uint64_t kib_ns;          /*   and for a KiB of it */
    uint64_t cost_ns;         /* of synchronizing since the last time began, */
    uint64_t served_ns;       /*   and of serving others' that was not yet paid for by waiting, */
    uint64_t served_at_ns;    /*   when it was last counted */
    uint64_t began_ns;        /* the last time */
    uint64_t rounds, intents; /* rounds that carried any, since it was last judged whether */
    bool rounds_are_sparse;   /*   they carry few */
    unsigned workers;
    locus_clock *then, *ahead; /* [workers] clocks the last time; how many to look ahead of the window the next time */
};

/* 0 or -ENOMEM. */
int governor_init(struct governor *, unsigned workers);
void governor_fini(struct governor *);

static inline bool governor_allows(const struct governor *g, uint64_t now_ns)
{
    return now_ns >= g->due_ns;
}

/* Rounds that synchronize took so much processor time of the shard; they, and what answers them, have so many bytes. */
void governor_spent(struct governor *, uint64_t cpu_ns, uint64_t rounds, uint64_t bytes);
/* The same for a frame of a peer's, which may have ended a round of its own. */
void governor_served(struct governor *, uint64_t now_ns, uint64_t cpu_ns, unsigned rounds, uint64_t bytes);
/* A round begins that carries so many intents, at least one. */
void governor_carries(struct governor *, uint64_t intents);
/* We have synchronized, or could have with the rounds that we began. The clocks of the workers; NULL: there are no intents. */
void governor_pause(struct governor *, uint64_t now_ns, const locus_clock *const *clock);

/* How far beyond the worker's window intents ride along, now that we synchronize and its clock is `now`. What was expected of
 * a worker that then paused, or was opened again, does not count. */
static inline locus_clock governor_ahead(const struct governor *g, unsigned worker, locus_clock now)
{
    locus_clock most = 2 * (now - g->then[worker]), ahead = g->ahead[worker] < most ? g->ahead[worker] : most;
    return ahead > 0 ? ahead : 0;
}

#endif
