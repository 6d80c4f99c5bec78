/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus.h - the public interface of locus, an adaptive parameter manager.
 *
 * A model is a set of tables; a table is a range of keys; each key has a row of floats. The
 * processes of a training job (nodes) form a cluster and share all rows: a worker (a training
 * thread) pulls, pushes and sets any key, wherever its row is. Workers may say ahead what they
 * intend to access; the manager then moves or copies each row to where it is needed, just in time
 * (AdaPM, Sections 3 and 4).
 *
 * Errors    Functions return int: 0, or a negative errno value, unless said otherwise.
 *           locus_strerror() names the value, locus_error() is the calling thread's last full
 *           message. A message about a peer starts "node N (host:port)", one about a key names the
 *           key and the valid range. A wrong argument is -EINVAL and changes nothing. n = 0 does
 *           nothing and returns 0.
 * Output    The library never prints on stdout and never ends the process, except on a violated
 *           internal invariant, or where a shard finds no memory for what it has to remember: then
 *           with one sentence on stderr. A collective that has waited for 10 s says on stderr whom
 *           it waits for.
 * Threads   A locus_worker and a locus_loader are each used by one thread at a time.
 *           locus_loader_open() and locus_current_clock() may be called from any thread; everything
 *           else is thread-safe.
 * Shapes    Rows are binary32. Keys are dense: the tables lie end to end, in their order, in one
 *           key space that begins at 0. Arrays of n rows hold them one after the other without
 *           gaps; rows of different lengths may be mixed in one call. A row that was never written
 *           is zero and costs no memory.
 *
 * On one node all techniques are the same.
 */
#ifndef LOCUS_H
#define LOCUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(LOCUS_API)
#define LOCUS_API __attribute__((visibility("default")))
#elif !defined(LOCUS_API)
#define LOCUS_API
#endif

#define LOCUS_VERSION_MAJOR 0
#define LOCUS_VERSION_MINOR 1
#define LOCUS_VERSION_PATCH 0

/* one node of the cluster; several may live in one process */
typedef struct locus locus;
typedef struct locus_worker locus_worker; /* one training thread of a node */
/* a thread that prepares a worker's batches and signals intent for it */
typedef struct locus_loader locus_loader;
typedef uint64_t locus_key;
typedef int64_t locus_clock;
typedef uint64_t locus_ticket; /* an asynchronous operation under way; 0: already complete */

/* The name of a return value: "success" for 0, else the system's text for -rc. Never NULL. Valid
 * until the calling thread's next call. */
LOCUS_API const char *locus_strerror(int rc);

/* The calling thread's last error as a full sentence, "" when there was none. Valid until its next
 * failing call. */
LOCUS_API const char *locus_error(void);

/* Limits. More is -EINVAL. */
#define LOCUS_LENGTH_MAX (UINT32_C(1) << 20) /* floats in a row */
/* keys in all tables together; of one table 2^29 in each shard */
#define LOCUS_KEYS_MAX (UINT64_C(1) << 40)
#define LOCUS_TABLES_MAX 1024  /* tables */
#define LOCUS_WORKERS_MAX 1024 /* workers of a node */
#define LOCUS_SHARDS_MAX 256   /* shards of a node */
/* keys of signaled intents whose start has not come, a node */
#define LOCUS_WAITING_KEYS_MAX 16000000

/* A range of keys whose rows hold `length` floats each. The range follows from the order of the
 * tables. */
struct locus_table {
    const char *name; /* in statistics and checkpoints; NULL: "table0", "table1", ... */
    uint64_t rows;    /* at least 1 */
    uint32_t length;  /* floats a row, 1 to LOCUS_LENGTH_MAX */
    uint32_t flags;   /* 0 */
};

/* How parameters are managed. The default needs no tuning. */
enum locus_technique {
    /* AdaPM: relocate or replicate, per key and moment, from intent (AdaPM, Section 4.1) */
    LOCUS_ADAPTIVE,
    /* classic parameter server: static partitioning; intent has no effect */
    LOCUS_STATIC,
    /* Lapse: relocation only, by localize, or by intent taken as localize */
    LOCUS_RELOCATE,
    LOCUS_REPLICATE,        /* replicas while intended, no relocation */
    LOCUS_FULL_REPLICATION, /* every node holds every row, kept in sync in the background */
};

struct locus_config {
    const struct locus_table *tables; /* read by locus_open() only */
    size_t table_count;               /* at least 1 */
    unsigned workers;                 /* worker threads that will open on this node; default 1 */
    /* shard actors of each node; 0: rank 0 chooses. Equal on all nodes */
    unsigned shards;
    enum locus_technique technique; /* equal on all nodes */
    bool act_immediately;           /* ablation: no action timing (AdaPM, Section 5.5) */
    /* Each shard synchronizes with its peers so often at most: updates, refreshes, intents that
     * begin or end, all of them; 0: the manager decides. What does not fit one round takes several.
     * Nobody who waits is held up: accesses, locus_set() of a replica, collectives. Intents are
     * acted on two such times ahead; one signaled later than that may come late, and its accesses
     * go to the owner. */
    unsigned max_rounds_per_second;
    double peer_timeout_s; /* seconds of silence after which a peer has failed; 0: 10.
                                         The shortest of all nodes is that of all */
    double join_timeout_s; /* seconds for locus_open(); 0: 60 */
    int rank, size;        /* size 0: rank, size and rendezvous come from the environment, */
    /*   or a cluster of one; size > 1 needs "host:port" of rank 0's rendezvous */
    const char *rendezvous;
    /* address for peers, or an interface; NULL: LOCUS_LISTEN, else by route to the rendezvous, and
     * without a secret (LOCUS_SECRET) on loopback only */
    const char *listen;
    /* A replica answers no pull and no locus_view() when its owner was not heard of for so many
     * seconds, 0: however long ago that was. The owner is asked then; locus_view() returns NULL,
     * and locus_pull_local() -EAGAIN. Owners that have nothing to say speak four times as often,
     * but at most 1000 times a second. Equal on all nodes. docs/techniques.md says what it costs */
    double staleness_s;
};

/* Fills in the defaults. `size` is the size of the struct that the caller was compiled with. */
LOCUS_API void locus_config_init_sized(struct locus_config *, size_t size);
#define locus_config_init(c) locus_config_init_sized((c), sizeof *(c))

/*
 * Joins the cluster; returns when all nodes joined. The node lives until locus_close().
 *   -EINVAL      a configuration that cannot be: locus_error() names the field and the value; or
 *                nodes that differ in it: in what, and both values
 *   -ENOMEM      the address space or memory for the directory could not be had
 *   -ETIMEDOUT   names who is missing
 *   -EADDRINUSE  rank 0: the rendezvous' port is taken
 *   -ECONNRESET  a node left before all had joined
 *   -EPROTO      another version of locus, or something at the rendezvous that is not locus
 *   -EACCES      the cluster's secret: this node does not know it, or rank 0 does not; or there is
 *                none, and the rendezvous is not on loopback
 *   -ENOSYS      a kernel without io_uring; one that is too old (before 5.7) is -EINVAL
 * Other values say which resource of the system was refused.
 *
 * A node is its process' alone. A child that is forked and not executed has none of its links, so
 * that it keeps no dead parent alive; it may use neither the node nor open one (nng ends such a
 * process). Children that compute only, as data loaders do, may run; rank 0's rendezvous port stays
 * taken as long as one of its own lives.
 */
LOCUS_API int locus_open(const struct locus_config *, locus **out);
/* Collective. -EBUSY while workers are open (nothing changes); -ECONNRESET when a peer was lost
 * (the node is closed all the same). NULL is allowed: 0. Distributions are freed before. */
LOCUS_API int locus_close(locus *);
LOCUS_API int locus_rank(const locus *);
LOCUS_API int locus_size(const locus *);
/* keys of all tables: valid keys are below it */
LOCUS_API uint64_t locus_keys(const locus *);
/* floats in that key's row; 0: no such key */
LOCUS_API uint32_t locus_length(const locus *, locus_key);
/* Writes at most `max` keys >= from whose main copy is here, ascending; returns how many. A
 * moment's view: rows may move meanwhile. To go on: from = last key + 1. */
LOCUS_API size_t locus_owned(locus *, locus_key from, locus_key *keys, size_t max);

/* A worker gets the lowest free id. The first one of a node whose workers had all closed waits for
 * the end of a quiesce of others. -EBUSY when `workers` of the configuration are open already;
 * -ECONNRESET when a peer was lost. */
LOCUS_API int locus_worker_open(locus *, locus_worker **out);
/* Waits for the worker's operations; its intents end; it counts as arrived at later collectives.
 * -EDEADLK inside a read section and -EBUSY while a loader is open: nothing changes. An operation
 * that nobody waited for and that failed: its result, and the worker is closed all the same. NULL
 * is allowed: 0. */
LOCUS_API int locus_worker_close(locus_worker *);
LOCUS_API int locus_worker_id(const locus_worker *); /* 0 ... workers-1 on this node */

/*
 * Access. `values` and `updates` hold the n rows one after the other. Keys may repeat within a
 * call; a call promises no order among its keys. Each key's read or write is atomic: no reader sees
 * half an update. Per key, synchronous operations on keys that are not replicated are sequentially
 * consistent (Lapse, Theorem 1); a worker sees its own completed updates in every later value.
 *   -EINVAL      a key out of range or a NULL array: nothing was read or written
 *   -ECONNRESET  a node was lost: locus_error() names it; what was asked of it may have been done
 *                or not
 *   -EDEADLK     inside a read section, and a key is not held here: nothing was read or written
 *   -ENOMEM      no slot for a first write, because too many rows left during one long read
 *                section: other rows of the call may have been written. Not on a cluster of one
 */
LOCUS_API int locus_pull(locus_worker *, const locus_key *keys, size_t n, float *values);
/* adds */
LOCUS_API int locus_push(locus_worker *, const locus_key *keys, size_t n, const float *updates);
/* overwrites */
LOCUS_API int locus_set(locus_worker *, const locus_key *keys, size_t n, const float *values);

/*
 * The same without waiting. Arrays of keys and values belong to locus until the ticket is done; a
 * ticket of 0 is done already. Operations of one worker on one key take effect in program order
 * (Lapse, Theorem 3 says what would break otherwise). Beyond the bound of operations in flight the
 * call waits.
 */
LOCUS_API int locus_pull_async(locus_worker *, const locus_key *keys, size_t n, float *values,
                               locus_ticket *);
LOCUS_API int locus_push_async(locus_worker *, const locus_key *keys, size_t n,
                               const float *updates, locus_ticket *);
LOCUS_API int locus_set_async(locus_worker *, const locus_key *keys, size_t n, const float *values,
                              locus_ticket *);
/* the operation's result; again for a finished ticket: 0 */
LOCUS_API int locus_wait(locus_worker *, locus_ticket);
/* the first failure among the operations waited for, or 0 */
LOCUS_API int locus_wait_all(locus_worker *);
LOCUS_API bool locus_done(locus_worker *, locus_ticket); /* no waiting */

/* One row, only if it can be read without the network. -EAGAIN: it is not held here, or an
 * operation of this worker's on the key may be under way (sometimes said of other keys). */
LOCUS_API int locus_pull_local(locus_worker *, locus_key, float *value);

/*
 * Changes a row in place, where this node holds it: calls `change` once, with the row, its `length`
 * floats and your context. Other writes of the row come before or after, and no reader sees it half
 * done (locus_view() excepted). On a replica the owner gets the difference between what the row
 * becomes and what it was, as floats have it, as an update like one of locus_push(): nothing for a
 * float of which no bit changed, and all of what it becomes where it was infinite or no number, so
 * that a row that diverged can be cleared with locus_set(). It saves writing an update down to have
 * it read and added: for optimizers that step row by row.
 * `change` must be short, must return and must not call locus: others wait for the row meanwhile.
 * Never the network.
 *   -EAGAIN  not held here, or an operation of this worker's on the key may be under way (sometimes
 *            said of other keys): `change` was not called; pull and push instead
 *   -EINVAL, -ECONNRESET, -ENOMEM  as above; -ENOMEM: `change` may have been called, with no effect
 */
typedef void locus_change(void *context, float *row, uint32_t length);
LOCUS_API int locus_change_local(locus_worker *, locus_key, locus_change *, void *context);

/* Starts fetching rows that are held here toward the processor's cache, for an access within about
 * a microsecond, by locus_view() above all: calls with many keys do it by themselves. A hint:
 * returns at once; does nothing when a key is out of range. At most 64 keys have an effect. */
LOCUS_API void locus_prefetch(locus_worker *, const locus_key *keys, size_t n);

/*
 * Reading in place. Pointers from locus_view() stay valid until the matching locus_read_end().
 * Values may change under the reader while others write them (ThreadSanitizer says so:
 * PREFIX/share/locus/tsan.suppressions tells it that this is allowed), and a row that moves away
 * stops changing. Sections may nest. Inside, a call that would or might wait returns -EDEADLK, and
 * has done nothing: rows that are not here, too many operations under way. A row that leaves in the
 * middle of a call is never waited for: a pull is refused then (some values may have been written),
 * and the rest of a push or set of several keys follows the rows, as complete for this worker as
 * what was done here. Memory given up by rows that left is not reused while a section that could
 * see it is open, so keep sections short (a batch, not an epoch): when more rows came during one
 * than a table has keys, and 65,536 more (of rows above 4 KiB as many as 256 MiB hold, 64 at
 * least), the node takes no further ones, nor answers others, until it ends.
 */
LOCUS_API void locus_read_begin(locus_worker *);
/* NULL: not held here, no such key, no section, or an operation of this worker's on the key may be
 * under way (sometimes said of other keys): a view shows all that its worker wrote. A row that was
 * never written shows zeros, and goes on to show them when it is written: ask again. */
LOCUS_API const float *locus_view(locus_worker *, locus_key);
LOCUS_API void locus_read_end(locus_worker *);

/* Intent and clocks (AdaPM, Section 3). An intent says: this worker will access these keys while
 * its clock is in [start, end). Never blocks, never touches the network. Intents may overlap,
 * repeat, be extended; a start in the past counts as now, an intent that ended in the past is
 * ignored.
 *   -EINVAL   end <= start, a key out of range, no such access: nothing was recorded
 *   -ENOBUFS  more than LOCUS_WAITING_KEYS_MAX keys of this node wait for their start: nothing of
 *             the call is recorded; accesses still work
 *   -ENOMEM   no memory for them: some may be recorded
 *   -ECONNRESET  a node was lost: locus_error() names it */
enum { LOCUS_READ = 1, LOCUS_WRITE = 2, LOCUS_READ_WRITE = 3 };
LOCUS_API int locus_intent(locus_worker *, const locus_key *, size_t n, locus_clock start,
                           locus_clock end, int access);
/* As the end of an intent: it never ends. It is the node's then, not the worker's, and stays when
 * the worker closes (one that waits for its start begins then); to say it again changes nothing.
 * The node gets a replica, which it keeps, unless it has the row itself; and while any node keeps a
 * key so, its row stays where it is: it moves neither for that nor for another node's intent or
 * localize. Updates go to and fro in the background, as often as max_rounds_per_second lets them
 * (NuPS, Section 3.1). With LOCUS_RELOCATE such keys are replicated, all others relocated: NuPS'
 * mix (Section 3.2), in which all nodes intend the hot keys so; at a node that does not, accesses
 * to them are remote. With LOCUS_ADAPTIVE and LOCUS_REPLICATE, too; the other techniques heed no
 * intent. */
#define LOCUS_FOREVER INT64_MAX
/* Takes back what this node's workers have signaled to last for ever about these keys, begun or not
 * (of other workers and of loaders: what the manager has read of it). Intents that end by
 * themselves go on. Keys that are not kept are ignored. Never blocks. Errors as locus_intent(). */
LOCUS_API int locus_unintend(locus_worker *, const locus_key *, size_t n);
/*
 * Bounded staleness (Ho et al., 2013; AdaPM, Appendix A.3). Waits until all copies of rows on this
 * node, replicas and main copies, hold every update and every set that any worker of the cluster
 * began before its clock came to clock(w) - staleness, w being the caller; asynchronous ones, too.
 * What is accessed until the caller next advances its clock is so fresh, then, without any further
 * check. locus_advance_clock() never waits: who calls this once a clock gets SSP with a staleness
 * of s, with 0 BSP, with LOCUS_REPLICATE and intents for ever ESSP. The first call, on any node,
 * switches it on for the cluster: from then on each clock costs two entries of 40 bytes to each
 * other node a shard; before that nothing.
 * A worker that has closed is infinitely far, an id that was never opened at 0; one that is opened
 * again begins at 0 and is not waited for until it has passed what its node has said. So all
 * workers must go on advancing: who waits in a collective while others wait for its clock waits for
 * ever. After 10 s, and then every 10 s, the call says on stderr whom it waits for and at which
 * clock.
 *   -EINVAL      a negative staleness
 *   -EDEADLK     inside a read section
 *   -ECONNRESET  a node was lost: locus_error() names it
 */
LOCUS_API int locus_bound(locus_worker *, locus_clock staleness);
/* returns the new clock; clocks start at 0 */
LOCUS_API locus_clock locus_advance_clock(locus_worker *);
LOCUS_API locus_clock locus_current_clock(const locus_worker *); /* from any thread */

/* Brings rows to this node (Lapse, Section 3.2). With LOCUS_RELOCATE; with LOCUS_ADAPTIVE unless
 * the owner intends the key itself or somebody holds a replica: then it returns 0 and nothing
 * moves, as with the other techniques. On a cluster of one all rows are here already. Never waits
 * for another worker's intent or clock. */
LOCUS_API int locus_localize(locus_worker *, const locus_key *, size_t n);
LOCUS_API int locus_localize_async(locus_worker *, const locus_key *, size_t n, locus_ticket *);

/* A data loader: a thread that prepares batches ahead and signals for a worker meanwhile. Any
 * number per worker; all are closed before their worker. */
LOCUS_API int locus_loader_open(locus_worker *, locus_loader **out);
LOCUS_API int locus_loader_intent(locus_loader *, const locus_key *, size_t n, locus_clock start,
                                  locus_clock end, int access);
LOCUS_API int locus_loader_close(locus_loader *); /* NULL is allowed: 0 */

/*
 * Sampling (NuPS, Section 4): rows whose keys are drawn at random, as for negative samples. The
 * manager draws the keys, so that it can have the rows here in time, use those that it has fetched
 * again, or choose among those that are here. How far it may go is the distribution's conformity
 * level. Local calls: every node registers the same distribution for itself.
 */
typedef struct locus_distribution locus_distribution;
typedef uint64_t locus_sample;

/* What a worker's samples of a distribution promise, in the order in which they are prepared.
 * Samples of different workers and nodes are independent at the first two levels. Quality falls,
 * and speed rises, from one to the next. */
enum locus_conformity {
    LOCUS_CONFORM, /* independent draws, all of them intended when the sample is prepared */
    /* reuse: 250 keys drawn independently make a pool, which is gone through 16 times, each time in
     * another random order. Each draw has the right probabilities; it depends on fewer than the
     * 4000 draws before it. Moves a sixteenth of the rows */
    LOCUS_BOUNDED,
    /* the same; besides, a key whose row is not here is put off to the end of its sample, once:
     * worth it when samples are pulled in portions. The frequencies are right in the long run, if
     * all of each sample is pulled */
    LOCUS_LONG_TERM,
    /* keys whose rows are here when they are pulled; their frequencies are whatever results. When
     * 32 draws from the distribution do not find one, nor a search through a piece of the range,
     * then an independent draw, from wherever it is */
    LOCUS_NON_CONFORM,
};
/* No key twice within one sample: a key that the sample has is drawn anew. (So a key's frequency is
 * no longer proportional to its weight, when it would be in most samples.) Pools that are filled
 * then have at least twice the keys of the sample that they are filled for. */
enum { LOCUS_WITHOUT_REPLACEMENT = 1 };

#define LOCUS_SAMPLES_MAX 4096          /* samples that a worker has open */
#define LOCUS_SAMPLE_KEYS_MAX (1 << 24) /* keys in a sample */

/*
 * Registers a distribution over the keys first ... first + count - 1: all equally likely, or in
 * proportion to weights[0 ... count - 1], which are read by this call only. All rows of the range
 * have the same length; a distribution for each otherwise. Memory: 16 bytes a key if weighted, none
 * a key if uniform; 1.4 KB for each of the node's workers, and 2 KB a pool, more for large samples
 * without replacement. (While it registers, a weighted one takes 16 more bytes a key.)
 *   -EINVAL  count 0, a range beyond the last key, rows of different lengths, a weight that is
 *            negative, infinite or not a number, weights that are all zero, no such level or flag:
 *            locus_error() says which and where
 *   -ENOMEM  no memory for the weights
 */
LOCUS_API int locus_distribution_uniform(locus *, locus_key first, uint64_t count,
                                         enum locus_conformity, unsigned flags,
                                         locus_distribution **);
LOCUS_API int locus_distribution_weighted(locus *, locus_key first, const double *weights,
                                          uint64_t count, enum locus_conformity, unsigned flags,
                                          locus_distribution **);
/* What is drawn follows from the seed, the rank, the worker's id and what was prepared before: a
 * worker that prepares the same samples gets the same keys (at NON_CONFORM, and with LONG_TERM's
 * order, also what is here decides; so does the order in which a worker and its loaders take
 * turns). Before the first sample, else -EBUSY. Unless told, the seed is the number of
 * distributions that the node registered before. */
LOCUS_API int locus_distribution_seed(locus_distribution *, uint64_t seed);
/* The same for one worker of this node, at any time and from any thread: what it and its loaders
 * draw from now on is as if nothing had been prepared before. With a seed for each epoch, a
 * training that goes on from a checkpoint draws what it would have drawn. -EINVAL: there is no such
 * worker */
LOCUS_API int locus_distribution_seed_worker(locus_distribution *, int worker, uint64_t seed);
/* No sample of it is prepared or pulled during or after this call; finishing one is allowed. NULL
 * is allowed. */
LOCUS_API void locus_distribution_free(locus_distribution *);

/*
 * Prepares a sample of n keys that the worker will pull, and may push, while its clock is in
 * [start, end): intent is signaled for what is to come here, as by locus_intent() with
 * LOCUS_READ_WRITE. Returns at once: never waits for the network or for memory to arrive. A start
 * in the past counts as now. n = 0: the sample 0, which has no keys.
 *   -EINVAL   end <= start; n above LOCUS_SAMPLE_KEYS_MAX; without replacement, n above the number
 *             of keys that have a weight above 0; a distribution of another node
 *   -ENOBUFS  LOCUS_SAMPLES_MAX samples of this worker are open: finish some
 *   -ENOMEM   no memory for its keys
 *   -ECONNRESET  a node was lost
 * A loader prepares for its worker; the sample is then the worker's, who pulls and finishes it.
 */
LOCUS_API int locus_prepare_sample(locus_worker *, locus_distribution *, size_t n,
                                   locus_clock start, locus_clock end, locus_sample *);
LOCUS_API int locus_loader_prepare_sample(locus_loader *, locus_distribution *, size_t n,
                                          locus_clock start, locus_clock end, locus_sample *);
/* The next n keys of the sample and their rows, in portions or whole; each row is that of its key,
 * read as by locus_pull(), whose other errors these are. An error uses up none of the sample's keys
 * (LOCUS_LONG_TERM may have put some off). `values` NULL: only the keys, whose rows the caller
 * views or pulls.
 *   -EINVAL  more than is left; a sample that is not open: finished, another worker's, or never
 *            prepared */
LOCUS_API int locus_pull_sample(locus_worker *, locus_sample, size_t n, locus_key *keys,
                                float *values);
/* Ends a sample, pulled to its end or not. Those still open end when the worker closes. -EINVAL:
 * not open. */
LOCUS_API int locus_finish_sample(locus_worker *, locus_sample);

/*
 * Collectives: called by all `workers` of every node, each the same one. A worker that has not yet
 * opened is waited for, one that closed counts as arrived, until its id is opened again: a
 * collective that the others begin after locus_worker_open() has returned waits for it. They wait
 * as long as all peers live.
 *   -EDEADLK  inside a read section: the caller did not arrive
 *   -EINVAL   other workers are waiting in a different collective: the caller did not arrive
 */
LOCUS_API int locus_barrier(locus_worker *);
/* Waits for the caller's asynchronous operations; then a barrier after which every copy of every
 * row holds every update made before it, and every intent that had expired before it has been acted
 * on. */
LOCUS_API int locus_quiesce(locus_worker *);
/*
 * Checkpoints (docs/checkpoint.md). locus_checkpoint() waits for the caller's asynchronous
 * operations; then all rows, as they are when all have come, go to a new folder in `directory`,
 * which all nodes see. The older checkpoint stays until the new one is whole on the disk, whatever
 * happens meanwhile; the newest three are kept (LOCUS_CHECKPOINTS in the environment: another
 * number). Loaders may go on signaling. A worker that opens meanwhile waits for the end.
 * locus_restore() makes all rows those of the newest checkpoint in `directory` (or of the one that
 * `directory` is), and all others zero, on any number of nodes, with any technique and shards.
 * Tables are matched by name. Clocks, intents and samples are not in a checkpoint.
 *
 * A failure is that of every worker on every node, with one sentence that names the node and the
 * file; nothing has changed then, but when a node was lost, or a disk failed, while rows were set.
 *   -ENOENT      no checkpoint; or a folder that not all nodes see
 *   -EBADMSG     damaged: which file, and where
 *   -EINVAL      tables that differ: in what; two tables of one name; a node all of whose workers
 *                have closed, so that nobody is there for its rows; no directory: the caller did
 *                not arrive
 *   -ENOMEM, -ENOSPC, -EIO, and what else the system says
 *   -ECONNRESET  a node was lost
 */
LOCUS_API int locus_checkpoint(locus_worker *, const char *directory);
LOCUS_API int locus_restore(locus_worker *, const char *directory);

/* Counters of this node since locus_open(); with LOCUS_METRICS=host:port in the environment they
 * are also served to Prometheus. They include every operation that the caller completed; those of
 * other threads are a moment's view. Accesses count keys. */
struct locus_stats {
    /* keys: main copy here, replica here, elsewhere */
    uint64_t pulled_local, pulled_replica, pulled_remote;
    uint64_t pushed_local, pushed_replica, pushed_remote; /* the same for push and set */
    uint64_t relocated_in, relocated_out, replicas_created, replicas_dropped, replicas_now,
        owned_now;
    uint64_t rounds, bytes_sent, bytes_received, messages_sent, messages_received, forwards;
    /* keys; late: an access went remote although an intent of this node for its key was active
     * already */
    uint64_t intents_signaled, intents_late;
    /* seconds since the owner's last frame, mean over reads of replicas */
    double replica_staleness_mean_s;
    /* How often a worker, looking at its last 10 s, found an eighth of its keys or more at other
     * nodes because: it signaled no intent for them; its intents came too late; its clock was not
     * advanced. The first time each is said on stderr with the remedy. LOCUS_ADVICE=0 in the
     * environment: neither; another number: looks every so many seconds. */
    uint64_t advice_intend, advice_earlier, advice_advance;
    uint64_t kept_now; /* keys that this node intends for ever */
    /* calls of locus_bound() that had to wait, and for how long together */
    uint64_t bounds_waited;
    double bounds_waited_s;
    /* keys pulled whose owner was asked although a replica was here: it was too old for
     * staleness_s. They are among pulled_remote */
    uint64_t pulled_too_old;
};
LOCUS_API int locus_stats_read_sized(const locus *, struct locus_stats *, size_t size);
#define locus_stats_read(n, s) locus_stats_read_sized((n), (s), sizeof *(s))

/* How something was distributed on this node since locus_open(). Times: count[i] lasted from 2^i up
 * to 2^(i+1) nanoseconds, the last one that or longer; hops: count[i] took i hops, the last one
 * that or more. */
enum { LOCUS_HISTOGRAM_BUCKETS = 40 };
struct locus_histogram {
    uint64_t count[LOCUS_HISTOGRAM_BUCKETS];
    uint64_t sum; /* of the nanoseconds, or hops */
};
enum locus_histogram_kind {
    /* of a call's rows of one shard, from asking for them until all had arrived */
    LOCUS_RELOCATION_TIME,
    LOCUS_PARKED_TIME,  /* of a request that reached this node before the row it is for */
    LOCUS_BLOCKED_TIME, /* of a call that waited for other nodes */
    /* of a request that this node served for another: how often it was forwarded */
    LOCUS_HOPS,
    /* of replicas here, the time since the owner's last frame, in milliseconds of a replica: two
     * that were 1 ms old for 5 ms count 10. `sum` ends at half of what it can hold */
    LOCUS_STALENESS,
};
LOCUS_API int locus_histogram_read(const locus *, enum locus_histogram_kind,
                                   struct locus_histogram *);

#ifdef __cplusplus
}
#endif
#endif
