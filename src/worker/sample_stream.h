/*
 * sample_stream.h - one worker's draws from one distribution: its random numbers, its pools, and the
 * keys that it knows to be here.
 *
 * The threads of the worker and its loaders draw from the stream; a latch makes them take turns.
 * Streams share nothing, so samples of different workers and nodes are independent at the levels
 * that promise it (NuPS, Section 4.1).
 *
 * Pools are filled ahead: while one gives keys, the next ones are drawn and their rows intended, which
 * takes 2 us once in POOL_KEYS * POOL_USES keys, and needs no thread. One more pool is filled ahead
 * whenever a pool's turn comes and an eighth of its rows is not here yet (NuPS, Section 4.4,
 * compares durations to the same end).
 *
 * Memory    pools when they are first needed: 2 KB each for POOL_KEYS keys, at most 1 +
 *           POOLS_AHEAD_MAX of them
 * Waiting   for the latch: some hundred nanoseconds for a sample of 64 keys, some microseconds when
 *           a pool is filled
 * Life      {0}, stream_seed, stream_..., stream_fini
 */
#ifndef LOCUS_WORKER_SAMPLE_STREAM_H
#define LOCUS_WORKER_SAMPLE_STREAM_H

#include "store/store.h"
#include "worker/sample_target.h"

/* The thread that prepares a sample and signals intent for it: the worker itself, or one of its
 * loaders. */
struct preparer {
    locus_worker *worker;
    locus_loader *loader; /* NULL: the worker */
};

/* Signals that the worker will read and write the keys while its clock is in [start, end). Also
 * returns 0 if the limit of waiting intents is reached: then the rows are accessed wherever they
 * are. */
int preparer_intend(const struct preparer *, const locus_key *keys, size_t n, locus_clock start,
                    locus_clock end);

/*
 * Sample reuse: G independently drawn keys are given out U times, each time in another random order
 * (NuPS, Section 4.4). A sample that must have no key twice skips keys that it already has.
 *
 * A pool's rows should stay here until it is used up. So its keys are intended together, for as long
 * as it is expected to last, and again if it lasts longer. Each extension is a fraction of the whole
 * time so far, so there are few of them.
 */

enum { POOL_KEYS = 250, POOL_USES = 16 }; /* G and U, as in NuPS, Section 5.1 */

struct pool {
    locus_key *key; /* [size]; of the current traversal, [next ...] are still to come */
    size_t size, capacity, next;
    unsigned uses;        /* traversals left, including the current one; 0: used up */
    locus_clock from, to; /* for which intent was signaled; equal: none yet */
};

/* Draws `size` keys, for which nothing is intended yet. 0 or -ENOMEM: the pool is as before. */
int pool_fill(struct pool *, const struct target *, struct random *, size_t size);
void pool_fini(struct pool *);

/* Takes at most n keys, fewer if the pool is used up; returns how many. With `drawn`: only keys
 * that are not in it; fewer also if a whole traversal has no other. */
size_t pool_take(struct pool *, struct random *, struct keyset *drawn, locus_key *keys, size_t n);

/* Keys that it will still give out. */
static inline uint64_t pool_left(const struct pool *p)
{
    return p->uses == 0 ? 0 : (uint64_t)p->uses * p->size - p->next;
}

/* Clocks are not negative; adding stops at the last one. */
static inline locus_clock clock_after(locus_clock c, locus_clock more)
{
    return c > INT64_MAX - more ? INT64_MAX : c + more;
}

/* Intends the pool's keys for [from, to). 0, or why that failed: a node was lost. */
int pool_intend(struct pool *, const struct preparer *, locus_clock from, locus_clock to);

/* The pool's keys are used in [start, end), and the pool will last about `left` clocks (0:
 * unknown): signals what was not yet signaled of that, and more. */
int pool_cover(struct pool *, const struct preparer *, locus_clock start, locus_clock end,
               locus_clock left);

/*
 * Local sampling: keys of the distribution whose rows are here (NuPS, Section 4.4).
 *
 * Keys are drawn from the target until a row is here, at most LOCAL_DRAWS times. A bit says whether
 * one is (store.h), so a draw in vain touches no line that others write often. If that fails, few
 * rows are here. Then the last key's part of the range, that of its shard, is searched from this key
 * on, 64 keys at once, LOCAL_SEARCH times; the first key found is used, whatever its weight. If
 * there is none, the caller falls back.
 */

enum { LOCAL_DRAWS = 32, LOCAL_SEARCH = 256, LOCAL_AHEAD = 16 };

struct local {
    locus_key ahead[LOCAL_AHEAD]; /* drawn together; looked at when they are used */
    unsigned left;                /* of them, the first ones */
};

/* Can the row of `key` be read without the network? */
static inline bool local_has_row(const struct store *s, locus_key key)
{
    struct row_ref ref = store_row_ref(s, key);
    return row_ref_is_held(ref, directory_load(row_ref_word(ref)));
}

/* With `drawn`: a key that is not in it, which is added to it. False: the search found no such key
 * here. */
bool local_draw(struct local *, const struct store *, const struct target *, struct random *,
                struct keyset *drawn, locus_key *key);

enum { POOLS_AHEAD_MAX = 8, POOLS_MAX = 1 + POOLS_AHEAD_MAX };

struct stream {
    int latch;
    unsigned filled; /* pools, from `present` on, in a ring */
    unsigned present, ahead;
    struct random random; /* of single keys, and the orders of pools */
    /* of the pools' keys. Separate, because how many pools are filled ahead depends on which rows
     * are here, and must not change what is drawn */
    struct random filling;
    uint64_t opening;        /* of the worker, in whose clock the pools are intended */
    locus_clock began;       /* the present pool: start of its first sample */
    locus_clock pool_clocks; /* how long a pool lasts; 0: not known yet */
    struct pool pool[POOLS_MAX];
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

/* Of zeros; before anything is drawn, and later again: then pools are forgotten. */
void stream_seed(struct stream *, uint64_t seed, uint64_t rank, uint64_t worker);
void stream_fini(struct stream *);

/* One call for each scheme: draws n keys. 0, -ENOMEM, or the error of signaling intent: a node was
 * lost. */
int stream_draw_independent(struct stream *, const struct drawing *, locus_key *keys, size_t n);
int stream_draw_reused(struct stream *, const struct drawing *, locus_key *keys, size_t n);
/* Signals nothing. Keys that had to be drawn from anywhere come last. */
int stream_draw_local(struct stream *, const struct drawing *, locus_key *keys, size_t n);

/*
 * A registered distribution: the target, the scheme of its conformity level, and a stream of
 * samples for each worker.
 */

struct locus_distribution {
    const locus *node;
    struct target target;
    enum locus_conformity conformity;
    bool is_unique; /* without replacement */
    bool is_used;   /* a sample was prepared */
    unsigned rank, streams;
    struct stream *stream; /* [streams], by worker */
};

/* Weights NULL: uniform. The arguments were checked. 0 or -ENOMEM. */
int distribution_new(locus_distribution **, locus_key first, const double *weights, uint64_t count,
                     unsigned workers);
void distribution_free(locus_distribution *);

/* Sets the seed of the streams' random numbers, which also depend on rank and worker. */
void distribution_seed(locus_distribution *, uint64_t seed);

#endif
