/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus.h - the public interface of locus, an adaptive parameter manager.
 *
 * A model is a set of tables; a table is a range of keys; each key has a row of floats. The
 * processes of a training job (nodes) form a cluster and share all rows: a worker (a training
 * thread) can pull, push and set any key, wherever its row is. Workers may say ahead what they
 * intend to access. The manager then moves each row to the node that needs it, or copies it there
 * (a replica), just in time (AdaPM, Sections 3 and 4).
 *
 * Errors    Functions return int: 0, or a negative errno value, unless said otherwise.
 *           locus_strerror() names the value, locus_error() is the calling thread's last full
 *           message. A message about a peer starts with "node N (host:port)"; one about a key names
 *           the key and the valid range. A wrong argument returns -EINVAL and changes nothing.
 *           n = 0 does nothing and returns 0.
 * Handles   A handle that is NULL, or was closed or freed, is refused: the call does nothing,
 *           locus_error() says why, and a result that can be an error is -EINVAL. (Closing and
 *           freeing NULL is allowed.) This is to show faults, and does not last: the memory of a
 *           handle is used again when 256 others were closed since, or others of 1 MiB, and a
 *           worker's handle is that of the next worker that opens with its id.
 * Output    The library never prints on stdout. It ends the process only if an internal invariant
 *           is violated, or a shard has no memory for what it must remember: then with one sentence
 *           on stderr. There a collective says after 10 s which nodes it waits for.
 * Threads   A locus_worker and a locus_loader are each used by one thread at a time, but
 *           locus_loader_open() and locus_current_clock() may be called from any. Calls that take
 *           neither are thread-safe. A call needs at most 64 KiB of stack; locus_open() of a
 *           cluster also what the system needs to look up names.
 * Shapes    Rows are binary32 in all calls. Keys are dense: the tables lie end to end, in their
 *           order, in one key space that begins at 0. Arrays of n rows hold them one after the
 *           other without gaps, also rows of different lengths. When a call has returned, its
 *           arrays are yours again, but for `_async`. A row that was never written is zero.
 * Memory    A row that was never touched costs none. A written row costs its values and 9 bytes on
 *           the node that owns it. In a cluster, a node that accessed or intended a row of another
 *           keeps 16 bytes for it, and 8 more once the row was replicated there or has moved; a
 *           replica costs 128 bytes on both nodes, and twice the values if the row was ever
 *           written. All of this lies in arrays by key, in pages of 4 KiB: a key whose neighbours
 *           are not touched costs a page instead of its 8 or 16 bytes. Where half of the pages are
 *           in use, they become huge pages.
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

/* The version of this header. */
#define LOCUS_VERSION_MAJOR 0
#define LOCUS_VERSION_MINOR 2
#define LOCUS_VERSION_PATCH 0

typedef struct locus locus; /* one node of the cluster; several may live in one process */
typedef struct locus_worker locus_worker; /* one training thread of a node */
/* a thread that prepares a worker's batches and signals intents for the worker */
typedef struct locus_loader locus_loader;
typedef uint64_t locus_key;
typedef int64_t locus_clock;
typedef uint64_t locus_ticket; /* an asynchronous operation under way; 0: already complete */

/* The text of a return value: "success" for 0, otherwise the system's text for -rc. Never NULL.
 * Valid until the calling thread's next call. */
LOCUS_API const char *locus_strerror(int rc);

/* The calling thread's last error as a full sentence; "" if there was none. Valid until the
 * thread's next failing call. */
LOCUS_API const char *locus_error(void);

/* Limits of rows, keys, tables and nodes. Anything above them is -EINVAL. */
#define LOCUS_LENGTH_MAX (UINT32_C(1) << 20) /* floats in a row */
/* keys in all tables together; 2^29 of one table in each shard */
#define LOCUS_KEYS_MAX (UINT64_C(1) << 40)
#define LOCUS_TABLES_MAX 1024  /* tables */
#define LOCUS_NAME_MAX 200     /* bytes in a table's name */
#define LOCUS_WORKERS_MAX 1024 /* workers of a node */
#define LOCUS_SHARDS_MAX 256   /* shards of a node */
#define LOCUS_SUM_MAX 64       /* numbers that locus_sum() adds up */
#define LOCUS_NOTE_MAX 1024    /* bytes of a checkpoint's note */
/* keys whose intents wait for their start, on a node of a cluster of several */
#define LOCUS_WAITING_KEYS_MAX 16000000

/* What locus_push() does with a row. LOCUS_NO_OPTIMIZER: it adds. All others: what is pushed is a
 * gradient g, and the row takes a step. The state of a row (momentum u, sums s, moments m and v)
 * lives with the row. Constants are those of PyTorch; Adam's bias correction counts the steps of
 * the node (locus_push()), as PyTorch's SparseAdam does. */
enum locus_optimizer {
    LOCUS_NO_OPTIMIZER,
    LOCUS_SGD,         /* w -= rate g */
    LOCUS_MOMENTUM,    /* u = momentum u + g; w -= rate u */
    LOCUS_ADAGRAD,     /* s += g^2; w -= rate g / (sqrt s + epsilon) */
    LOCUS_ROW_ADAGRAD, /* the same with one s for the row: s += mean of g^2 */
    LOCUS_ADAM,        /* m, v: means of g and g^2 that forget by beta1 and beta2 */
    LOCUS_ADAMW,       /* the same; first w -= rate decay w */
};

/* The constants of an optimizer. 0: the usual one. What an optimizer does not use must be 0. */
struct locus_rule {
    float rate;         /* above 0; usually 0.001, of both AdaGrads 0.01; locus_table_rate() */
    float momentum;     /* above 0, below 1; usually 0.9 */
    float beta1, beta2; /* above 0, below 1; usually 0.9 and 0.999 */
    float epsilon;      /* above 0; usually 1e-8, of both AdaGrads 1e-10 */
    float decay;        /* of LOCUS_ADAMW: above 0; usually 0.01 */
};

/* What the values of a row are in memory, in messages and in checkpoints. Calls have floats, and
 * arithmetic is theirs; so are an optimizer's state, updates and gradients. */
enum locus_element {
    LOCUS_F32,
    /* Two bytes: the upper half of a float, 8 significant bits. Each change rounds the values that
     * it gives the row, up or down by chance, so that the mean is right and small steps are not
     * lost. The same calls of one worker round alike in each run. No view: locus_view(). */
    LOCUS_BF16,
};

/* A range of keys whose rows hold `length` floats each. The range follows from the order of the
 * tables. */
struct locus_table {
    /* In statistics, checkpoints and names of files; each table has its own: UTF-8 without control
     * characters and '/', of 1 to LOCUS_NAME_MAX bytes, the first not '.'. NULL: "table0",
     * "table1", ... */
    const char *name;
    uint64_t rows;   /* at least 1 */
    uint32_t length; /* floats a row, 1 to LOCUS_LENGTH_MAX; with optimizer state likewise */
    uint32_t flags;  /* 0, or LOCUS_TABLE_ENCODED */
    enum locus_optimizer optimizer;
    struct locus_rule rule;
    enum locus_element element;
};
/* Only their program can read the rows: they are differences to first values that it computes, or
 * have optimizer state behind the values. Checkpoints note it: `locus checkpoint export` refuses
 * such a table. */
enum { LOCUS_TABLE_ENCODED = 1 };

/* How parameters are managed. The default needs no tuning. */
enum locus_technique {
    /* AdaPM: relocate or replicate, per key and moment, from intent (AdaPM, Section 4.1) */
    LOCUS_ADAPTIVE,
    /* classic parameter server: rows stay at home; intents have no effect */
    LOCUS_STATIC,
    /* Lapse: relocation only, by localize, or by intents, which act like localize */
    LOCUS_RELOCATE,
    LOCUS_REPLICATE,        /* replicas while intended, no relocation */
    LOCUS_FULL_REPLICATION, /* every node holds every row, kept in sync in the background */
};

/* A node's configuration: its tables, threads and cluster. locus_config_init() fills in the
 * defaults. */
struct locus_config {
    const struct locus_table *tables; /* read by locus_open() only */
    size_t table_count;               /* at least 1 */
    unsigned workers;                 /* worker threads that will open on this node; default 1 */
    /* shards: threads of each node that manage rows; 0: rank 0 chooses. Equal on all nodes */
    unsigned shards;
    enum locus_technique technique; /* equal on all nodes */
    /* seconds of silence after which a peer has failed; 0: LOCUS_PEER_TIMEOUT, else 10. The
     * shortest of all nodes is that of all */
    double peer_timeout_s;
    double join_timeout_s; /* seconds for locus_open(); 0: LOCUS_JOIN_TIMEOUT, else 60 */
    int rank, size;        /* size 0: rank, size and rendezvous come from the environment, */
    /*   or a cluster of one; size > 1 needs "host:port" of rank 0's rendezvous */
    const char *rendezvous;
    /* address for peers, or an interface; NULL: LOCUS_LISTEN, else by route to the rendezvous, and
     * without a secret (LOCUS_SECRET) on loopback only */
    const char *listen;
    /* A number made from whatever else must be equal on all nodes, such as the data and the
     * program's options: a node whose number differs from rank 0's is refused */
    uint64_t fingerprint;
    /* 1: any node but rank 0 may be lost, and the others go on (struct locus_losses).
     * Equal on all nodes; 0: LOCUS_SURVIVES, else 0. Not with LOCUS_STATIC, LOCUS_FULL_REPLICATION */
    unsigned survives;
};

/* Fills a configuration with the defaults. `size` is the size of the struct that the caller was
 * compiled with. */
LOCUS_API void locus_config_init_sized(struct locus_config *, size_t size);
#define locus_config_init(c) locus_config_init_sized((c), sizeof *(c))

/*
 * Joins the cluster, and leaves it. locus_open() returns when all nodes have joined; or, if one of this
 * rank was lost in a running job with `survives`, when this one has taken its place (locus_meet). The
 * node lives until locus_close().
 *   -EINVAL      an invalid configuration: locus_error() names the field and the value; or nodes
 *                whose configurations differ: it names the field and both values
 *   -ENOMEM      no address space, or no memory for the directory
 *   -ETIMEDOUT   names who is missing
 *   -EADDRINUSE  rank 0: the rendezvous' port is taken
 *   -ECONNRESET  a node left before all had joined, or was lost while this one joined a running job
 *   -EPROTO      another version of locus, or something at the rendezvous that is not locus
 *   -EACCES      the cluster's secret: this node or rank 0 does not know it; or there is none, and
 *                the rendezvous is not on loopback
 *   -ENOSYS      a kernel without io_uring; one that is too old (before 5.7) is -EINVAL
 * Other values name the system resource that was refused.
 *
 * A node belongs to its process alone. A child that is forked without exec has none of the node's
 * links and ports, so it does not keep a dead parent alive. It may neither use the node nor open
 * one of a cluster: each such call is -EPERM at once. Children that only compute, such as data
 * loaders, may run.
 */
LOCUS_API int locus_open(const struct locus_config *, locus **out);
/* Collective. -EBUSY while workers are open (nothing changes); -ECONNRESET if a peer was lost (the
 * node is closed anyway). NULL is allowed and returns 0. Free distributions before. */
LOCUS_API int locus_close(locus *);
/* Instead of locus_close(), in a running job with `survives`: this node leaves alone. What it has to
 * tell is told, and its rows go to the others, whose calls wait for that; nothing is lost, and a node
 * of the same rank may join later. Waits for changes of members under way, and for other nodes that
 * leave. If the others close, or have lost, left and joined too often, it closes with them. In a
 * cluster of one as locus_close().
 *   -EBUSY       workers are open; -EINVAL: rank 0, or without `survives` (nothing changes)
 *   -ECONNRESET  this node is lost, as it is where another one is lost meanwhile: the job of the others
 *                goes on, unless that one is rank 0 (the node is closed) */
LOCUS_API int locus_leave(locus *);

/* What a node knows of itself, its tables and its rows. */
LOCUS_API int locus_rank(const locus *); /* its number, 0 ... nodes of the cluster - 1 */
LOCUS_API int locus_size(const locus *); /* the number of nodes */
/* the number of keys in all tables: valid keys are below it */
LOCUS_API uint64_t locus_keys(const locus *);
LOCUS_API int locus_technique_of(const locus *); /* an enum locus_technique */
/* The first key of a table (by number, from 0); of one that does not exist, locus_keys(). */
LOCUS_API locus_key locus_table_first(const locus *, unsigned table);
/* floats in that key's row; 0: no such key */
LOCUS_API uint32_t locus_length(const locus *, locus_key);
/* the same with the state of its optimizer */
LOCUS_API uint32_t locus_state_length(const locus *, locus_key);
/* Writes at most `max` keys >= from whose main copy is here, in ascending order; returns how many.
 * A snapshot: rows may move meanwhile. To continue: from = last key + 1. First values are set
 * fastest in this way: by each node those of its own rows, many in a call. */
LOCUS_API size_t locus_owned(locus *, locus_key from, locus_key *keys, size_t max);

/* Opens a worker, with the lowest free id. Waits while a collective is under way to which all other
 * workers of the node have come; if none is open here, while the other nodes quiesce.
 * -EBUSY if `workers` of the configuration are open already; -ECONNRESET if a peer was lost. */
LOCUS_API int locus_worker_open(locus *, locus_worker **out);
/* Waits for the worker's operations; its intents end; it counts as arrived at later collectives.
 * -EDEADLK inside a read section, -EBUSY while a loader is open: nothing changes. If an operation
 * for which nobody waited has failed, returns its result; the worker is closed anyway. NULL is
 * allowed and returns 0. */
LOCUS_API int locus_worker_close(locus_worker *);
LOCUS_API int locus_worker_id(const locus_worker *); /* 0 ... workers-1 on this node */

/*
 * Pull reads rows, push adds to them, set overwrites them, wherever they are. `values` and
 * `updates` hold the n rows one after the other. Keys may repeat within a call; a call promises
 * no order among its keys. Each key's read or write is atomic: no reader sees half an update.
 * Per key, synchronous operations on keys that are not replicated are sequentially consistent
 * (Lapse, Theorem 1); a worker sees its own completed updates in every later value. Others'
 * updates may seem to go backwards: a value from the owner has more of them than one that is
 * read later from a replica here, until the next refresh. locus_bound() and locus_quiesce() say
 * what every later value has. What holds for replicated keys holds, also on a cluster of one, for a
 * row that several workers of this node write at the same time: each of them may get a copy of it,
 * which is exchanged with the row every millisecond or so, at every collective, bound and set, and
 * as soon as another node pulls or moves it. Not with LOCUS_STATIC and LOCUS_RELOCATE.
 *   -EINVAL      a key out of range or a NULL array: nothing was read or written
 *   -ECONNRESET  a node was lost: locus_error() names it; requests to it may or may not have been
 *                done
 *   -EDEADLK     inside a read section, with a key that is not held here: nothing was read or
 *                written
 *   -ENOMEM      no slot for a first write, because too many rows left during one long read
 *                section: other rows of the call may have been written. Never on a cluster of one
 */
LOCUS_API int locus_pull(locus_worker *, const locus_key *keys, size_t n, float *values);
/* Adds. If the table has an optimizer, `updates` are gradients: each key's row, or its copy here,
 * takes a step; a key that a call names twice takes two, in their order. Adam's bias correction
 * counts a call, and each locus_step_local(), as one step of this node with the table. */
LOCUS_API int locus_push(locus_worker *, const locus_key *keys, size_t n, const float *updates);
/* Overwrites. If the table has an optimizer, the row's state is cleared. */
LOCUS_API int locus_set(locus_worker *, const locus_key *keys, size_t n, const float *values);

/*
 * Reads and writes rows with the state of their optimizer, and sets rates.
 *
 * Nodes, and workers of a node, that step copies of one row at the same time do not see each
 * other's steps until copies are synchronized. Then the changes of the values are added up (a
 * single step of a copy may instead be taken anew where the row is), and the state becomes that of
 * all steps, one after the other: nothing is lost, counted twice or blown up, however many there
 * are. All calls that read or write values leave the state out, except locus_pull_state() and
 * locus_set_state(), for which a row is locus_state_length() floats: the values, then the state (m
 * before v). Without an optimizer they are locus_pull() and locus_set().
 */
LOCUS_API int locus_pull_state(locus_worker *, const locus_key *keys, size_t n, float *rows);
LOCUS_API int locus_set_state(locus_worker *, const locus_key *keys, size_t n, const float *rows);
/* From now on the steps of this node's workers with this table (by number, from 0) have this rate;
 * 0: none moves a row. From any thread. -EINVAL: no such table, one without an optimizer, or a rate
 * that is negative or not finite */
LOCUS_API int locus_table_rate(locus *, unsigned table, double rate);
/* As if this node had made so many steps with this table: Adam's bias correction goes on from
 * there. For state of a checkpoint or of another program: a node begins with 0. From any thread.
 * -EINVAL: no such table, or one without an optimizer */
LOCUS_API int locus_table_steps(locus *, unsigned table, uint64_t steps);

/*
 * Pull, push and set without waiting for other nodes. Arrays of keys and values belong to locus
 * until the ticket is done; a ticket of 0 is done already. Operations of one worker on one key take
 * effect in program order (Lapse, Theorem 3 says what would break otherwise). The call waits if too
 * many operations are in flight.
 */
LOCUS_API int locus_pull_async(locus_worker *, const locus_key *keys, size_t n, float *values,
                               locus_ticket *);
LOCUS_API int locus_push_async(locus_worker *, const locus_key *keys, size_t n,
                               const float *updates, locus_ticket *);
LOCUS_API int locus_set_async(locus_worker *, const locus_key *keys, size_t n, const float *values,
                              locus_ticket *);
/* the operation's result; 0 for a ticket that was waited for before */
LOCUS_API int locus_wait(locus_worker *, locus_ticket);
/* the first failure among the operations waited for, or 0 */
LOCUS_API int locus_wait_all(locus_worker *);
/* Whether a wait would return at once; no waiting. A ticket that was never given out is not done:
 * locus_error() says so, and locus_wait() is -EINVAL. */
LOCUS_API bool locus_done(locus_worker *, locus_ticket);

/* Reads one row, only if that is possible without the network. -EAGAIN: the row is not held here,
 * or an operation of this worker on the key may be under way (sometimes reported for other
 * keys). */
LOCUS_API int locus_pull_local(locus_worker *, locus_key, float *value);

/*
 * Changes a row in place, if this node holds it: calls `change` once, with your context, the row
 * and its `length` floats. Other writes of the row come before or after, and no reader sees it half
 * done (except through locus_view()). If the row is a replica, the owner gets the difference
 * between the new and the old row, computed in floats, as an update like that of locus_push(). A
 * float of which no bit changed sends nothing. A float that was infinite or not a number sends its
 * new value, so that a row that diverged can be cleared with locus_set(). Never uses the network.
 * `change` runs with the row locked: it must be short, must return (not by longjmp or an
 * exception), must call no function of locus, and must not wait for a thread that may be in one.
 * Whoever needs the row waits meanwhile, and so may this node's shards, which then answer no other
 * node: if that takes longer than peer_timeout_s the others take this node for lost.
 *   -EAGAIN  not held here, or an operation of this worker on the key may be under way (sometimes
 *            reported for other keys): `change` was not called; pull and push instead
 *   -EINVAL, -ECONNRESET  as for locus_push()
 *   -ENOMEM  the same; `change` may have been called, with no effect
 */
typedef void locus_change(void *context, float *row, uint32_t length);
LOCUS_API int locus_change_local(locus_worker *, locus_key, locus_change *, void *context);

/* Steps a row that is here in place by its table's optimizer: calls `gradient` once, with your
 * context, the row's values, and an array of `length` floats, all of which it must write: the
 * gradient with which the row then takes a step. What holds for `change` holds for `gradient`;
 * errors are those of locus_change_local(). Each of the two calls refuses the tables of the other
 * with -EINVAL. */
typedef void locus_gradient(void *context, const float *values, float *gradient, uint32_t length);
LOCUS_API int locus_step_local(locus_worker *, locus_key, locus_gradient *, void *context);

/* Starts to fetch rows that are held here into the processor's cache. It is for an access within
 * about a microsecond, mainly by locus_view(); calls with many keys prefetch by themselves. Advice:
 * returns at once, and does nothing if a key is out of range. At most 64 keys have an effect. */
LOCUS_API void locus_prefetch(locus_worker *, const locus_key *keys, size_t n);

/*
 * Reads rows in place, without a copy. Pointers from locus_view() stay valid until the matching
 * locus_read_end(). Values may change while they are read, if others write them (ThreadSanitizer
 * reports that; PREFIX/share/locus/tsan.suppressions tells it that this is allowed). A row that
 * moves away stops changing. Sections may nest. Inside a section, a call that would or might wait
 * returns -EDEADLK and has done nothing: for rows that are not here, or if too many operations are
 * under way. If a row leaves in the middle of a call, a pull is refused (some values may have been
 * written), and the rest of a push or set of several keys follows the rows and is as complete for
 * this worker as what was done here. Memory of rows that left is not reused while a section that
 * could see it is open. So keep sections short (a batch, not an epoch): if more rows arrive during
 * a section than a table has keys, and 65,536 more (of rows above 4 KiB as many as 256 MiB hold, at
 * least 64), the node accepts no further rows, and does not answer other nodes, until the section
 * ends: after 2 s it says so on stderr, after peer_timeout_s they take it for lost.
 */
LOCUS_API void locus_read_begin(locus_worker *);
/* NULL: not held here, no such key, no section, a table of LOCUS_BF16, or an operation of this
 * worker on the key may be under way (sometimes reported for other keys), because a view shows
 * everything that its worker wrote. A row that was never written shows zeros, and still does after
 * it is written: call again. */
LOCUS_API const float *locus_view(locus_worker *, locus_key);
LOCUS_API void locus_read_end(locus_worker *);

/*
 * Reads rows in place if they are all here, and otherwise pulls them. These copies lie in `copies`,
 * one after the other; who signaled the rows ahead mostly copies nothing. rows[i] becomes the row
 * of keys[i]. Equal keys have the same row in place, and each its own copy.
 *   1            in place: until the locus_read_end() that ends the section which this call began
 *   0            they are copies, or `copies` is NULL and one is not here: no section was begun
 *   -EINVAL, -ECONNRESET, -EDEADLK, -ENOMEM  as for locus_pull()
 */
LOCUS_API int locus_read_rows(locus_worker *, const locus_key *keys, size_t n, float *copies,
                              const float **rows);

/*
 * Finds a batch's distinct keys: a training step pulls each row of its batch once, and pushes one
 * gradient a row.
 *
 *     locus_distinct(keys, n, locus_keys(node), distinct, places, &count);
 *     locus_pull(w, distinct, count, rows);      of keys[i] it is row places[i]
 *     ...                                        whose gradient adds to sum places[i]
 *     locus_push(w, distinct, count, sums);
 */
#define LOCUS_THREADS_MAX 64
/* From now on, `threads` threads do this worker's calls with many keys: the caller's, and helpers
 * that the library has. Until it closes; 1 at first. Results are the same. Helpers read rows, and
 * add to them where several workers or nodes write; what else is written they write in calls of
 * very many keys that all differ.
 *   -EINVAL  0, or above LOCUS_THREADS_MAX
 *   -ENOMEM  no memory, or no threads: nothing changes */
LOCUS_API int locus_use_threads(locus_worker *, unsigned threads);
/* The distinct keys among n, in the order in which they first come: distinct[0 ... *count-1], which
 * has room for n; keys[i] is distinct[places[i]]. Any thread may call it; needs 8 to 16 bytes
 * a key meanwhile.
 *   -EINVAL  a key that is not below `bound`: locus_error() names it; n above INT32_MAX
 *   -ENOMEM  no memory for that */
LOCUS_API int locus_distinct(const locus_key *keys, size_t n, locus_key bound, locus_key *distinct,
                             int64_t *places, size_t *count);

/* Says ahead which keys a worker will access: its intent (AdaPM, Section 3). It will access them
 * while its clock is in [start, end). The call never blocks and never touches the network. Intents
 * may overlap, repeat and be extended. A start in the past counts as now; an intent whose end is in
 * the past is ignored.
 *   -EINVAL   end <= start, a key out of range: nothing was recorded
 *   -ENOBUFS  more than LOCUS_WAITING_KEYS_MAX keys of this node wait for their start, where nodes
 *             act on intents: nothing of the call is recorded; accesses still work
 *   -ENOMEM   no memory for them: some may be recorded
 *   -ECONNRESET  a node was lost: locus_error() names it */
LOCUS_API int locus_intent(locus_worker *, const locus_key *, size_t n, locus_clock start,
                           locus_clock end);
/* As the end of an intent: it never ends. Such an intent belongs to the node, not to the worker,
 * and remains when the worker closes (if it still waits for its start, it begins then). Signaling
 * it again changes nothing. The node gets a replica and keeps it, unless it has the row itself.
 * While any node keeps a key in this way, no intent and no localize of any node moves the row.
 * Updates are synchronized in the background. With LOCUS_RELOCATE such keys are replicated and all
 * others relocated: the mix of NuPS (Section 3.2), if all nodes intend the hot keys for ever. On a
 * node that does not, accesses to them are remote. LOCUS_ADAPTIVE and LOCUS_REPLICATE act on such
 * intents, too; the other techniques ignore intents. */
#define LOCUS_FOREVER INT64_MAX
/* Takes back all intents for ever of this node's workers for these keys, whether they have begun or
 * not (of other workers and of loaders: those that the manager has read). Intents that end by
 * themselves continue. Keys that are not kept are ignored. Never blocks. Errors as for
 * locus_intent(). */
LOCUS_API int locus_unintend(locus_worker *, const locus_key *, size_t n);

/*
 * Waits until copies here are fresh enough: bounded staleness (Ho et al., 2013; AdaPM, Appendix
 * A.3). Then all copies of rows on this node, replicas and main copies, hold every update and set
 * (asynchronous ones, too) that any worker of the cluster began before its clock reached clock(w) -
 * staleness, where w is the caller; so does all that the caller accesses until it next advances its
 * clock. Calling this once a clock gives SSP with a staleness of s, BSP with 0, and ESSP with
 * LOCUS_REPLICATE and intents for ever. The first call on any node switches it on for the cluster:
 * from then on each clock costs two entries of 40 bytes from each shard to each other node. The
 * clock of a closed worker counts as infinite, that of an id that was never opened as 0. A worker
 * that opens again begins at 0; calls do not wait for it until it has passed the clock that its
 * node reported last while it had workers, nor at clocks that others have come to before that. (On
 * a cluster of one: the lowest clock of its workers at the last call, opening or closing.) All
 * workers must keep advancing their clocks: who waits in a collective while others wait for its
 * clock waits for ever. After 10 s, and then every 10 s, stderr says which node is waited for, at
 * which clock.
 *   -EINVAL      a negative staleness
 *   -EDEADLK     inside a read section
 *   -ECONNRESET  a node was lost: locus_error() names it
 */
LOCUS_API int locus_bound(locus_worker *, locus_clock staleness);

/* A worker's clock, which intents and bounds speak of. It is the program's: it mostly counts
 * training steps. It starts at 0; locus_advance_clock() adds 1 and returns the new clock, and never waits. */
LOCUS_API locus_clock locus_advance_clock(locus_worker *);
LOCUS_API locus_clock locus_current_clock(const locus_worker *); /* from any thread */

/* Brings rows to this node (Lapse, Section 3.2). Works with LOCUS_RELOCATE, and with LOCUS_ADAPTIVE
 * unless the owner intends the key itself or a node holds a replica: then it returns 0 and nothing
 * moves, as with the other techniques. On a cluster of one all rows are here already. Never waits
 * for another worker's intent or clock. */
LOCUS_API int locus_localize(locus_worker *, const locus_key *, size_t n);
LOCUS_API int locus_localize_async(locus_worker *, const locus_key *, size_t n, locus_ticket *);

/* Signals intents for a worker from another thread: a loader, which prepares batches ahead. A
 * worker may have any number of loaders; close them before the worker. locus_loader_intent() is as
 * locus_intent(), whose clocks are the worker's. */
LOCUS_API int locus_loader_open(locus_worker *, locus_loader **out);
LOCUS_API int locus_loader_intent(locus_loader *, const locus_key *, size_t n, locus_clock start,
                                  locus_clock end);
LOCUS_API int locus_loader_close(locus_loader *); /* NULL is allowed: 0 */

/*
 * Has a thread prepare a worker's batches, and signal their intents ahead: a feed. The thread has a
 * loader of the worker, and prepares portions of work. A portion is what you make of it, mostly a
 * batch. The thread is a few portions ahead at first, later about as many as the worker has had, at
 * most `depth` - 1 beside the one that the worker has; then it waits.
 *
 * Choose `depth` so that its portions take the worker 10 to 100 ms: a few for batches of 10 ms,
 * thousands for steps of 10 us. A row needs two rounds of the manager to come, of some milliseconds
 * each, and more where cores are shared: what was announced later than that is late, and the worker
 * waits for the network. Further ahead costs memory alone: portions, and keys whose intents wait,
 * at most LOCUS_WAITING_KEYS_MAX on a node. Rows do not come earlier for it.
 */
typedef struct locus_feed locus_feed;
/* A locus_fill prepares the next portion, on the feed's thread: what is in it from before is yours
 * to use again. Returns false at the end: the portion is not used. */
typedef bool locus_fill(void *context, locus_loader *, void *portion);
/* `portions`: `depth` pointers to portions; the array and they are the feed's until it closes.
 * Without a worker (NULL) the loader is NULL, and nothing can be signaled.
 *   -EINVAL  no function, no portions, depth 0
 *   -EPERM   in a child that was forked
 *   -EAGAIN  no thread could be started
 *   -ENOMEM  no memory */
LOCUS_API int locus_feed_open(locus_worker *w, locus_fill *fill, void *context, void **portions,
                              size_t depth, locus_feed **out);
/* Gives the portion before back, and waits for the next one; NULL after the last, and for a feed
 * that is closed, which is a fault of the program. By the worker's thread. */
LOCUS_API void *locus_feed_next(locus_feed *);
/* Ends the thread, wherever it is, and waits until it has prepared its portion. By the worker's
 * thread, before the worker closes. NULL is allowed: 0. -EPERM: in a child that was forked. */
LOCUS_API int locus_feed_close(locus_feed *);

/*
 * Rows whose keys are drawn at random, such as negative samples (NuPS, Section 4). The manager
 * draws the keys, so it can fetch the rows in time, use fetched rows several times, or choose among
 * rows that are here. The distribution's conformity level says how far it may go.
 */
typedef struct locus_distribution locus_distribution;
typedef uint64_t locus_sample;

/* What samples from a distribution promise. It is said of one worker's samples, in the order in
 * which they are prepared; those of different workers and nodes are independent at the first two
 * levels. From level to level quality falls and speed rises. */
enum locus_conformity {
    LOCUS_CONFORM, /* independent draws, all of them intended when the sample is prepared */
    /* reuse: a pool of 250 independently drawn keys is used 16 times, each time in another random
     * order. Each draw has the right probabilities; it depends only on fewer than 4000 draws before
     * it. Moves a sixteenth of the rows */
    LOCUS_BOUNDED,
    /* the same; also, a key whose row is not here is put off once, to the end of its sample: useful
     * if samples are pulled in portions. The frequencies are right in the long run, if all of each
     * sample is pulled */
    LOCUS_LONG_TERM,
    /* keys whose rows are here when they are pulled; nothing is promised about frequencies. If
     * neither 32 draws from the distribution nor a search through a piece of the range find such a
     * key, an independent draw is used, wherever its row is */
    LOCUS_NON_CONFORM,
};
/* No key twice within one sample: if the sample already has a key, another is drawn. (So the
 * frequency of a key that would be in most samples is no longer proportional to its weight.) Pools
 * then have at least twice as many keys as the sample for which they are filled. */
enum { LOCUS_WITHOUT_REPLACEMENT = 1 };

/* Limits of a worker's samples. */
#define LOCUS_SAMPLES_MAX 4096          /* samples that a worker has open */
#define LOCUS_SAMPLE_KEYS_MAX (1 << 24) /* keys in a sample */

/*
 * Registers a distribution from which keys are drawn. Every node registers the same one for itself.
 * It is over the keys first ... first + count - 1: all equally likely, or in proportion to
 * weights[0 ... count - 1], which only this call reads. All rows of the range must have the same
 * length; otherwise use one distribution for each length. Memory: 16 bytes a key if weighted,
 * nothing a key if uniform; 0.8 KB for each of the node's workers, and 2 KB a pool, more for large
 * samples without replacement. (During registration a weighted one takes 16 more bytes a key.)
 *   -EINVAL  count 0, a range beyond the last key, rows of different lengths, a weight that is
 *            negative, infinite or not a number, weights that are all zero, an unknown level or
 *            flag: locus_error() says which and where
 *   -ENOMEM  no memory for the weights
 */
LOCUS_API int locus_distribution_uniform(locus *, locus_key first, uint64_t count,
                                         enum locus_conformity, unsigned flags,
                                         locus_distribution **);
LOCUS_API int locus_distribution_weighted(locus *, locus_key first, const double *weights,
                                          uint64_t count, enum locus_conformity, unsigned flags,
                                          locus_distribution **);
/* The draws follow from the seed, the rank, the worker's id and what was prepared before: a worker
 * that prepares the same samples gets the same keys. (NON_CONFORM, and the order of LONG_TERM, also
 * depend on which rows are here; the order in which a worker and its loaders prepare matters, too.)
 * Must be called before the first sample, otherwise -EBUSY. By default the seed is the number of
 * distributions that the node has registered before. */
LOCUS_API int locus_distribution_seed(locus_distribution *, uint64_t seed);
/* The seed of one worker of this node, at any time and from any thread: from now on the worker and
 * its loaders draw as if nothing had been prepared before. With a seed for each epoch, training
 * that resumes from a checkpoint draws what it would have drawn. -EINVAL: there is no such
 * worker */
LOCUS_API int locus_distribution_seed_worker(locus_distribution *, int worker, uint64_t seed);
/* No sample from it may be prepared or pulled during or after this call; finishing one is allowed.
 * NULL is allowed. */
LOCUS_API void locus_distribution_free(locus_distribution *);

/*
 * Prepares, pulls and ends samples of random keys. locus_prepare_sample() makes one of n keys that
 * the worker will pull, and may push, while its clock is in [start, end). It signals intent for the
 * rows that shall come here, as locus_intent() does, and returns at once: never waits for the
 * network or for rows to arrive. A start in the past counts as now. n = 0 gives the sample 0, which
 * has no keys.
 *   -EINVAL   end <= start; n above LOCUS_SAMPLE_KEYS_MAX; without replacement, n above the number
 *             of keys that have a weight above 0; a distribution of another node
 *   -ENOBUFS  LOCUS_SAMPLES_MAX samples of this worker are open: finish some
 *   -ENOMEM   no memory for its keys
 *   -ECONNRESET  a node was lost
 * A loader prepares samples for its worker; the worker pulls and finishes them.
 */
LOCUS_API int locus_prepare_sample(locus_worker *, locus_distribution *, size_t n,
                                   locus_clock start, locus_clock end, locus_sample *);
LOCUS_API int locus_loader_prepare_sample(locus_loader *, locus_distribution *, size_t n,
                                          locus_clock start, locus_clock end, locus_sample *);
/* Gives the next n keys of the sample and their rows, in portions or all at once. Rows are read as
 * by locus_pull(), with the same errors. An error uses up none of the sample's keys
 * (LOCUS_LONG_TERM may have put some off). If `values` is NULL, gives only the keys; the caller
 * views or pulls their rows.
 *   -EINVAL  more keys than are left; a sample that is not open: finished, another worker's, or
 *            never prepared */
LOCUS_API int locus_pull_sample(locus_worker *, locus_sample, size_t n, locus_key *keys,
                                float *values);
/* Ends a sample, whether it was pulled to its end or not. Samples that are still open end when the
 * worker closes. -EINVAL: not open. */
LOCUS_API int locus_finish_sample(locus_worker *, locus_sample);

/*
 * Calls that all workers of all nodes make together: collectives. All `workers` of every node must
 * make the same call. It waits for workers that have not opened yet. A worker that has closed
 * counts as arrived, until its id is opened again: a collective that the others begin after
 * locus_worker_open() has returned waits for it. Collectives wait as long as all peers live.
 *   -EDEADLK  inside a read section: the caller did not arrive
 *   -EINVAL   other workers are waiting in a different collective: the caller did not arrive
 */
LOCUS_API int locus_barrier(locus_worker *);
/* Waits for the caller's asynchronous operations, then acts as a barrier. After it every copy of
 * every row holds every update made before it, and every intent that expired before it has been
 * acted on. */
LOCUS_API int locus_quiesce(locus_worker *);
/* A barrier at which values[0 ... n-1] become their sums over all workers, of which each gets the
 * same bits; a worker that has closed adds nothing. Numbers are added by rank, and on a node by the
 * worker's id, so sums are the same in every run. -EINVAL: also n above LOCUS_SUM_MAX, or an n that
 * differs from other workers' (from that of another node: then on all nodes). */
LOCUS_API int locus_sum(locus_worker *, double *values, size_t n);
/* As locus_sum(), also with n = 0; and nodes that have joined the running job (`survives`) are let in
 * here: all workers of such a node make this call, with the same n, as their first collective. It
 * returns from the first one that the others make after that, and from then on the node takes part
 * in all collectives; until then the others do not wait for it. Without such nodes it is a sum.
 *   -EINVAL  of any other collective: this node has joined, and not yet met the others here
 *   -EAGAIN  of locus_checkpoint() and locus_restore(), which need all nodes: another one has joined,
 *            and not yet met them; or it has closed all its workers, and may leave: later */
LOCUS_API int locus_meet(locus_worker *, double *values, size_t n);

/*
 * Writes all rows to a checkpoint, and restores them: collectives (docs/guides/checkpoints.md).
 * locus_checkpoint() waits for the caller's asynchronous operations, and for all workers to arrive;
 * then it writes all rows to a new folder in `directory`, which all nodes must see. The older
 * checkpoint stays until the new one is complete on the disk, whatever happens meanwhile; the
 * newest three are kept (LOCUS_CHECKPOINTS in the environment: another number), and nothing else in
 * `directory` is removed. Loaders may go on signaling. locus_restore() sets all rows to those of
 * the newest checkpoint in `directory` that is whole (or of `directory` itself, if it is one), and
 * all other rows to zero; a newer one that is damaged is named on stderr. It works with any number
 * of nodes and shards and with any technique. Tables are matched by name. A checkpoint holds no
 * clocks, intents or samples.
 *
 * If the call fails, it fails for every worker on every node, with one sentence that names the node
 * and the file. Nothing has changed then, unless a node was lost, or the sentence says that rows
 * were being set: a disk failed, or a file changed that had been verified.
 *   -ENOENT      no checkpoint; or a folder that not all nodes see
 *   -EBADMSG     all of them are damaged: which file of the newest, and where
 *   -EINVAL      tables that differ, and in what; a node whose workers have all closed, so that
 *                none can handle its rows; no directory: the caller did not arrive
 *   -ENOMEM, -ENOSPC, -EIO, and other errors of the system
 *   -ECONNRESET  a node was lost
 */
LOCUS_API int locus_checkpoint(locus_worker *, const char *directory);
LOCUS_API int locus_restore(locus_worker *, const char *directory);
/* As locus_checkpoint(), and the checkpoint has a note, such as how far training had come: the
 * `bytes` bytes that the open worker of rank 0 with the lowest id gives. -EINVAL: also more than
 * LOCUS_NOTE_MAX. */
LOCUS_API int locus_checkpoint_with(locus_worker *, const char *directory, const void *note,
                                    size_t bytes);
/* As locus_restore(), and every worker gets the checkpoint's note; with `note` NULL only its
 * length. *bytes is the room for it, and afterwards its length, 0 if there is none. -EINVAL: also a
 * note for which there is no room: nothing has changed. */
LOCUS_API int locus_restore_with(locus_worker *, const char *directory, void *note, size_t *bytes);

/* Counters of this node since locus_open(); with LOCUS_METRICS=host:port in the environment they
 * are also served to Prometheus. They include every operation that the caller has completed; for
 * other threads they are a snapshot. Accesses are counted in keys; checkpoints and restores make
 * none. */
struct locus_stats {
    /* keys whose row was here as main copy, here as replica, elsewhere. A view is a pull; what a
     * `_local` call does not find is not counted */
    uint64_t pulled_local, pulled_replica, pulled_remote;
    uint64_t pushed_local, pushed_replica, pushed_remote; /* the same for push and set */
    uint64_t relocated_in, relocated_out, replicas_created, replicas_dropped, replicas_now,
        owned_now;
    uint64_t rounds, bytes_sent, bytes_received, messages_sent, messages_received, forwards;
    /* keys; late: an access was remote although an intent of this node for its key was already
     * active */
    uint64_t intents_signaled, intents_late;
    /* seconds since the owner's last frame, mean over all reads of replicas */
    double replica_staleness_mean_s;
    uint64_t kept_now; /* keys that this node intends for ever */
    /* calls of locus_bound() that had to wait, and their total waiting time */
    uint64_t bounds_waited;
    double bounds_waited_s;
    /* calls that waited for rows of other nodes (LOCUS_BLOCKED_TIME), and how long, of all workers
     * together: one late key makes a call of many wait. Not for other workers in collectives */
    uint64_t calls_waited;
    double calls_waited_s;
};
LOCUS_API int locus_stats_read_sized(const locus *, struct locus_stats *, size_t size);
#define locus_stats_read(n, s) locus_stats_read_sized((n), (s), sizeof *(s))

/* How the cluster's members have changed since locus_open(), as this node knows; with `survives` of
 * the configuration. A row of a lost node goes on with what a replica had; else with its save, which
 * each node sends of its rows to another one, again and again; else with zeros, as a row that was
 * never written. What was written since is lost. */
struct locus_losses {
    unsigned survives;           /* 0: a loss ends the job, and nothing here changes */
    unsigned members;            /* nodes that are in the cluster now */
    unsigned lost, left, joined; /* how often one was lost, has left, has joined the running job */
    unsigned is_newcomer;        /* this node has joined a running job */
    int last;                    /* the node of the last change; -1: none */
    double last_at_s;            /* when that began here, in seconds since 1970 */
    double last_s;               /* how long the repair took, until the rows here were saved anew */
    /* rows of lost nodes whose home is here now: the sums over nodes are all such rows */
    uint64_t rows_from_replicas, rows_from_saves, rows_zero;
    uint64_t saves, saved_bytes; /* of rows, from here to other nodes */
    /* how old saves become until newer ones replace them: of rows here; of the node lost last */
    double save_age_s, last_age_s;
    uint64_t rows_handed_over; /* likewise, of nodes that have left: they are as they were */
};
LOCUS_API int locus_losses_read_sized(const locus *, struct locus_losses *, size_t size);
#define locus_losses_read(n, l) locus_losses_read_sized((n), (l), sizeof *(l))

/* Histograms of times, hops and replicas' ages on this node since locus_open(). For times, count[i]
 * is the number that lasted from 2^i up to 2^(i+1) nanoseconds, in the last bucket that or longer.
 * For hops, count[i] is the number that took i hops, in the last bucket that or more. */
enum { LOCUS_HISTOGRAM_BUCKETS = 40 };
struct locus_histogram {
    uint64_t count[LOCUS_HISTOGRAM_BUCKETS];
    uint64_t sum; /* of the nanoseconds, or hops */
};
enum locus_histogram_kind {
    /* of a call's rows in one shard, from asking for them until all had arrived */
    LOCUS_RELOCATION_TIME,
    LOCUS_PARKED_TIME,  /* of a request that reached this node before its row did */
    LOCUS_BLOCKED_TIME, /* of a call that waited for other nodes */
    /* of a request that this node served for another: how often it was forwarded */
    LOCUS_HOPS,
    /* of replicas here, the time since the owner's last frame, weighted by milliseconds of a
     * replica: two replicas that were 1 ms old for 5 ms count 10. `sum` stops at half of its
     * range */
    LOCUS_STALENESS,
};
LOCUS_API int locus_histogram_read(const locus *, enum locus_histogram_kind,
                                   struct locus_histogram *);

/* Adds a point, such as a loss, to a curve of the run's report: the value now, on the curve of that
 * name (1 to 31 printable ASCII characters, without " and \), which `locus report` draws. Nodes
 * that use the same name have a line each, the first eight of them. Without LOCUS_REPORT, and with
 * a value that is not finite, nothing happens. On any thread; may wait for the disk, and a full one
 * ends the report and nothing else. -EINVAL: a name that cannot be. */
LOCUS_API int locus_report_value(const locus *, const char *curve, double value);

#ifdef __cplusplus
}
#endif
#endif
