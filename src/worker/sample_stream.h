/*
 * sample_stream.h - one worker's draws from one distribution: its random numbers, its pools, and the keys
 * that it knows to be here.
 *
 * The threads of the worker and its loaders draw from the stream; a latch makes them take turns.
 * Streams share nothing, so samples of different workers and nodes are independent at the levels
 * that promise it (NuPS, Section 4.1).
 *
 * Pools are filled ahead: while one gives keys, the next ones are drawn and their rows intended.
 * This is what "in the background" means here: the manager's threads fetch the rows. Drawing the
 * keys takes 2 us once in POOL_KEYS * POOL_USES keys, and needs no thread. One more pool is filled
 * ahead whenever a pool's turn comes and an eighth of its rows is not here yet (NuPS, Section 4.4,
 * compares durations to the same end).
 *
 * Memory    pools when they are first needed: 2 KB each for POOL_KEYS keys, at most 1 +
 *           POOLS_AHEAD_MAX of them
 * Waiting   for the latch: some hundred nanoseconds for a sample of 64 keys, some microseconds when
 *           a pool is filled
 * Life      stream_init, stream_seed, stream_... , stream_fini
 */
#ifndef LOCUS_WORKER_SAMPLE_STREAM_H
#define LOCUS_WORKER_SAMPLE_STREAM_H

#include "worker/sample_lease.h"
#include "worker/sample_local.h"

enum { POOLS_AHEAD_MAX = 8, POOLS_MAX = 1 + POOLS_AHEAD_MAX };

struct stream_pool {
    struct pool pool;
    struct lease lease;
};

struct stream {
    int latch;
    unsigned filled; /* pools, from `present` on, in a ring */
    unsigned present, ahead;
    struct random random; /* of single keys, and the orders of pools */
    struct random
        /* of the pools' keys. Separate, because how many pools are filled ahead depends on which
         * rows are here, and must not change what is drawn */
        filling;
    uint64_t opening;        /* of the worker, whose clock the leases are in */
    locus_clock began;       /* the present pool: start of its first sample */
    locus_clock pool_clocks; /* how long a pool lasts; 0: not known yet */
    struct stream_pool pool[POOLS_MAX];
    struct local local;
} __attribute__((aligned(128)));

/* A request for keys: `n` of them to `keys`, used while the worker's clock is in [start, end). */
struct drawing {
    const struct target *target;
    const struct store *store;
    struct preparer who;
    struct keyset *drawn; /* without replacement: the keys of the sample; otherwise NULL */
    locus_clock now, start, end;
    uint64_t opening; /* of the worker: pools of another one's are of no use */
    bool rows_move;   /* do rows come here by intent? */
    /* an intent moves a row once (Lapse), and the row may leave again: intend those that have
     * left */
    bool localize;
    bool intends; /* signal what is drawn */
};

void stream_init(struct stream *);
/* Before anything is drawn. */
void stream_seed(struct stream *, uint64_t seed, uint64_t rank, uint64_t worker);
/* At any time: pools, and what is known to be here, are forgotten. */
void stream_reseed(struct stream *, uint64_t seed, uint64_t rank, uint64_t worker);
void stream_fini(struct stream *);

/* One call for each scheme: draws n keys. 0, -ENOMEM, or the error of signaling intent: a node was
 * lost. */
int stream_draw_independent(struct stream *, const struct drawing *, locus_key *keys, size_t n);
int stream_draw_reused(struct stream *, const struct drawing *, locus_key *keys, size_t n);
/* Signals nothing. Keys that had to be drawn from anywhere come last. */
int stream_draw_local(struct stream *, const struct drawing *, locus_key *keys, size_t n);

#endif
