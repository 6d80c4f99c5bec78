/*
 * clocks.h - bounded staleness: up to which clock do this node's copies hold what any worker did
 * (locus_bound; Ho et al., 2013)?
 *
 * Two markers travel on the links, which are in order, so that each speaks of what came before it:
 *
 *   updated L   node p to all: what p's workers did before their lowest clock came to L has been
 *               sent to you, if you own it. Behind the updates of replicas that p had not sent when
 *               it read L, and when the writes that p's workers had asked of others are answered.
 *   fresh M     owner o to all: what you hold replicas of here holds everything done before clock
 *               M. M is the least `updated` of all nodes, o's own included; behind the refreshes of
 *               all rows that had changed by then.
 *
 * A refresh is ignored while an update of the holder's is under way (replica.h), so `fresh` counts
 * when the round under way to that owner is over. The gate is the least `fresh` of the others and
 * of our own `updated`: every copy here holds what was done before clock `gate`. A row that moves
 * travels behind what it must hold, and only the node that gets it holds a replica of it then.
 *
 * None of this costs anything until a worker first waits. Its node then tells all others
 * (`awaited`), and these begin to say how far they are. They hurry while somebody waits for what
 * they can say.
 *
 * Callers   shard.c, dispatch.c, origin.c, replica.c, round.c on the shard's thread; clocks_gate,
 *           clocks_advanced and clocks_last on any
 * Memory    64 bytes a node, 24 a worker
 * Waiting   never
 * Life      clocks_init, any use, clocks_fini
 */
#ifndef LOCUS_PROTOCOL_CLOCKS_H
#define LOCUS_PROTOCOL_CLOCKS_H

#include "protocol/state.h"

/* What we know of a node, and it of us. Of ourselves `updated` only. */
struct clock_peer {
    locus_clock updated, fresh; /* atomic, this thread writes: what it has said and what counts */
    locus_clock fresh_next;     /* counts when our round is over */
    locus_clock awaited;        /* a worker there waits for it */
    locus_clock said;           /* the last `fresh` that we said to it, */
    locus_clock aim;            /*   and the next one, when so many refreshes have left: */
    uint64_t aim_at;
};

struct clocks {
    locus_clock gate;        /* atomic */
    locus_clock due;         /* atomic: a worker that comes to this clock wakes us */
    bool is_on;              /* somebody has waited, here or elsewhere */
    struct clock_peer *peer; /* [nodes] */
    /* [workers] atomic: 0 until it first opens, its clock, INT64_MAX while it is closed; requests
     * that it has posted, to each shard. NULL: none */
    const locus_clock *const *progress;
    const uint64_t *const *posted;
    /* The next `updated` that we shall say; -1: none. Requests posted before it was read, */
    locus_clock reading;
    uint64_t *target; /* [workers] */
    uint64_t *taken;  /* [workers] and what was taken on since the beginning */
    /* Writes under way belong to one of two generations: the one that is said next, or the later
     * one. When those that were posted before have all been taken on, the next one begins. So it is
     * with what replicas have not sent, once those writes are done, which may end in a replica
     * here. */
    bool has_taken, has_looked;
    unsigned later_open, later_unsent; /* 0 or 1 */
    uint64_t open[2], unsent[2];
    struct request **wait; /* [workers] */
    unsigned waiting;
    locus_clock awaited; /* the highest that ours wait for, said to all */
};

int clocks_init(struct shard *, const locus_clock *const *progress, const uint64_t *const *posted);
void clocks_fini(struct shard *);

/* ---- what happens ---- */

/* A request is taken on, maybe once more; it is done. */
void clocks_taken(struct shard *, struct request *);
void clocks_done(struct shard *, struct request *);
/* A replica has updates that its owner has not been sent; it has none any more. */
void clocks_unsent(struct shard *, struct record *);
void clocks_sent(struct shard *, struct record *);
/* A worker waits for a clock: its request (REQUEST_CLOCK) is complete when the gate has come to
 * it. */
void clocks_wait(struct shard *, struct request *);
/* A marker of a peer's. NULL, or what is wrong with it. */
const char *clocks_entry(struct shard *, unsigned peer, const struct wire_entry *);
/* Our round to the peer is over. */
void clocks_round_over(struct shard *, unsigned peer);

/* ---- turns, by round.c ---- */

/* Before rounds: shall the changes be looked at, so that a generation can be said, or `fresh`?
 * Then, when they were. */
bool clocks_want_look(struct shard *);
void clocks_looked(struct shard *);
/* After rounds: says what can be said, and lets those go on who have waited for it. */
void clocks_say(struct shard *);
/* Somebody waits for what rounds bring. */
bool clocks_hurry(const struct shard *);
/* Something can be done at once. */
bool clocks_have_news(const struct shard *);

/* ---- workers ---- */

static inline locus_clock clocks_gate(const struct clocks *c)
{
    return __atomic_load_n(&c->gate, __ATOMIC_ACQUIRE);
}

/* The worker has come to `now` (INT64_MAX: it closes): must the shard be woken? */
static inline bool clocks_advanced(const struct clocks *c, locus_clock now)
{
    locus_clock due = __atomic_load_n(&c->due, __ATOMIC_SEQ_CST);
    return now == due || (now == INT64_MAX && due != INT64_MAX);
}

/* How far is the node, as far as this shard knows? And which is the last? */
unsigned clocks_last(const struct clocks *, unsigned nodes, unsigned rank, locus_clock *at);

#endif
