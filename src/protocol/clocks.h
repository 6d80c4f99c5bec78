/*
 * clocks.h - bounded staleness: up to which clock do the main copies and replicas of this node hold
 * what any worker did (locus_bound; Ho et al., 2013)?
 *
 * Two markers travel on the links. Links keep order, so each speaks of everything that was sent
 * before it:
 *
 *   updated L   node p to all: what p's workers did before their lowest clock came to L has been
 *               sent to you, if you own it. Behind the updates of replicas that p had not sent when
 *               it read L, and when the writes that p's workers had asked of others are answered.
 *   fresh M     owner o to all: your replicas of my rows hold everything done before clock M. M is
 *               the least `updated` of all nodes, o's too; behind the refreshes of all rows that
 *               had changed by then.
 *
 * A holder ignores refreshes while an update of its own is under way (replica.h), so `fresh` takes
 * effect when the round under way to that owner is over. The gate is the least of the others'
 * `fresh` and our own `updated`: all rows here hold what was done before it. A row that moves is
 * sent after everything that it must hold, and at that time only the node that gets it holds a
 * replica.
 *
 * A node without workers that count says what the highest of the others has said: it holds nobody
 * up, and nothing is to be taken back when workers open again. A peer that may not read for a while
 * is told of some clocks only, and then of the latest.
 *
 * None of this costs anything until a worker first waits. Its node then tells all others
 * (`awaited`), and they begin to send their markers. They do not wait for the pacer while a worker
 * waits for a marker that they can send.
 *
 * Callers   the shard's thread; clocks_gate, clocks_advanced and clocks_last any
 * Memory    96 bytes a node, 24 a worker
 * Waiting   never
 * Life      clocks_init, any use, clocks_fini
 */
#ifndef LOCUS_PROTOCOL_CLOCKS_H
#define LOCUS_PROTOCOL_CLOCKS_H

#include "protocol/shard.h"

/* What we know about a node, and it about us. For our own node only `updated` is used. */
struct clock_peer {
    locus_clock updated, fresh; /* atomic: what it has sent and what has taken effect */
    locus_clock fresh_next;     /* takes effect when our round is over */
    locus_clock awaited;        /* a worker there waits for it */
    locus_clock said;           /* the last `fresh` that we sent to it, */
    locus_clock aim;            /*   and the next one, when so many refreshes have left: */
    uint64_t aim_at;
    unsigned unheard;              /* `updated` that we told it of since `told_before`; */
    locus_clock told, told_before; /*   and the last one */
};

struct clocks {
    locus_clock gate;        /* atomic */
    locus_clock due;         /* atomic: a worker that reaches this clock wakes us */
    bool is_on;              /* a worker has waited, here or on another node */
    struct clock_peer *peer; /* [nodes] */
    locus_clock reported;    /* the last `updated` that was a worker's clock */
    /* The next `updated` that we shall send; -1: none; is it a worker's? */
    locus_clock reading;
    bool is_ours;
    uint64_t *target; /* [workers] requests posted before it was read, */
    uint64_t *taken;  /* [workers] and those taken on, since the beginning */
    /* Writes under way belong to one of two intervals: the one whose clock is sent next, or the
     * later one. The later one begins when all requests posted before have been taken on. Unsent
     * updates of replicas are divided in the same way once those writes are done, because a write
     * may end in a replica here. */
    bool has_taken, has_divided;
    unsigned later_open, later_unsent; /* 0 or 1 */
    uint64_t open[2], unsent[2];
    uint64_t intervals, interval; /* of unsent updates so far; the one of `reading` */
    struct request **wait;        /* [workers] */
    unsigned waiting;
    locus_clock awaited; /* the highest clock that our workers wait for, sent to all */
};

int clocks_init(struct shard *); /* 0 or -ENOMEM */
void clocks_fini(struct shard *);

/* ---- what happens ---- */

/* A request is taken on, perhaps not for the first time; it is done. */
void clocks_taken(struct shard *, struct request *);
void clocks_done(struct shard *, struct request *);
/* A replica has updates that were not sent to its owner; it has none any more. */
void clocks_unsent(struct shard *, struct record *);
void clocks_sent(struct shard *, struct record *);
/* What is unsent now becomes the earlier interval, if the present one is empty: clocks_may_divide.
 * Returns its number; is_sent: all of that interval. */
bool clocks_may_divide(const struct shard *);
uint64_t clocks_divide(struct shard *);
bool clocks_is_sent(const struct shard *, uint64_t interval);
/* A worker waits for a clock: its request (REQUEST_CLOCK) is complete when the gate reaches it. */
void clocks_wait(struct shard *, struct request *);
/* A marker from a peer. Returns NULL, or what is wrong with it. */
const char *clocks_entry(struct shard *, const struct arrival *);
/* Our round to the peer is over. */
void clocks_round_over(struct shard *, unsigned peer);
/* The node was lost: it counts as one whose workers have all closed, and its rows as fresh. Or it
 * joins, and is told what the others were told. */
void clocks_change(struct shard *, unsigned node, bool joins);
/* We have joined: our workers count when they have passed the clock of those that we found. */
void clocks_joined(struct shard *);

/* ---- turns, by round.c ---- */

/* Before rounds: must the dirty set be taken, so that a marker can be sent? Afterwards: it was. */
bool clocks_want_changes(struct shard *);
void clocks_have_changes(struct shard *);
/* After rounds: sends what markers it can, and completes the requests that waited for them; unless a
 * replica is an orphan (replica.h), which lacks what its owner had said. */
void clocks_say(struct shard *, bool opens);
/* Does a worker wait for what rounds bring? */
bool clocks_hurry(const struct shard *);
/* Can anything be done at once? */
bool clocks_have_news(const struct shard *);

/* ---- workers ---- */

static inline locus_clock clocks_gate(const struct clocks *c)
{
    return __atomic_load_n(&c->gate, __ATOMIC_ACQUIRE);
}

/* The worker's clock is now `now` (INT64_MAX: it closes): must the shard be woken? */
static inline bool clocks_advanced(const struct clocks *c, locus_clock now)
{
    locus_clock due = __atomic_load_n(&c->due, __ATOMIC_SEQ_CST);
    return now == due || (now == INT64_MAX && due != INT64_MAX);
}

/* The node that is furthest behind, as far as this shard knows, and its clock. */
unsigned clocks_last(const struct clocks *, unsigned nodes, unsigned rank, locus_clock *at);

#endif
