/*
 * operation.h - a worker's operations under way: the requests of which they consist, and waiting
 * for them.
 *
 * A call whose keys are not all here becomes an operation, with one request for each shard and
 * REQUEST_ITEMS_MAX keys. The shards complete the requests; the last one completes the operation.
 * At most OPERATIONS_MAX are in flight. If there are more, a call waits for the oldest; if the pool
 * of requests is used up, for any request.
 *
 * Callers   the worker's thread; operation_request_done a shard's
 * Memory    a pool a worker, sized by the number of shards; items are touched when used
 * Waiting   operations_wait: polls for WAITER_SPIN_NS, yielding the core each time if threads share
 *           cores, then sleeps. It ends, because each request is either answered by a living peer
 *           or ended by the loss of one
 * Life      operations_init, begin / add / submit / wait, operations_fini when none is in flight
 */
#ifndef LOCUS_WORKER_OPERATION_H
#define LOCUS_WORKER_OPERATION_H

#include "protocol/request.h"

enum {
    OPERATIONS_MAX = 64,
    /* counters of keys under way: usually more than keys, so that few keys share one */
    OPERATIONS_PLACES = 16384,
};

struct clocks;
struct reactor;

/* Where a worker sleeps until one of its requests completes. */
struct waiter {
    uint32_t completions; /* futex: counts wake-ups */
    uint32_t sleeping;
    /* threads may have to share a core: a thread that spins yields it each time */
    bool yields;
    struct reactor *helps; /* takes this one's turns while it spins; NULL: nobody's */
};

#define WAITER_SPIN_NS UINT64_C(50000)

struct operation {
    struct waiter *waiter;
    locus_ticket ticket;
    uint32_t left;     /* requests, and one while it is being submitted */
    int rc;            /* the first failure */
    struct kept *kept; /* values that its requests send and that do not belong to the caller */
};

struct operations {
    struct waiter waiter;
    struct operation operation[OPERATIONS_MAX]; /* by ticket */
    locus_ticket last;                          /* ticket given out */
    /* the first failure of an operation for which nobody waited */
    int forgotten;
    struct reactor **reactor; /* [shards] */
    unsigned shards;
    unsigned requests, next;   /* in the pool; where to look for a free one */
    struct request *request;   /* the pool */
    struct request_item *item; /* of all requests */
    uint64_t *posted;          /* [shards] atomic: requests, ever */
    struct request **filling;  /* [shards] being filled for the current operation */
    /* Keys under way, by hash: a later request for one of them must not overtake (Lapse, Theorem
     * 3). NULL if rows do not move. */
    uint32_t *under_way;
    uint64_t keys_under_way;
    struct locus_histogram blocked; /* how long waits lasted */
};

struct operations_config {
    unsigned worker; /* its id */
    struct reactor **reactor;
    unsigned shards;
    bool yields;      /* threads may have to share a core */
    bool moves;       /* rows may move between nodes */
    uint64_t *posted; /* [shards] for protocol/clocks.h */
};

/* 0 or -ENOMEM. */
int operations_init(struct operations *, const struct operations_config *);
void operations_fini(struct operations *);

/* Begins an operation; may wait for the oldest one. */
struct operation *operation_begin(struct operations *);
/* Adds a key of `shard`, with where its values are or go. May wait for a request. */
void operation_add(struct operations *, struct operation *, enum request_kind, unsigned shard,
                   locus_key, float *values);
/* Memory for values that one of its keys sends, if the caller's do not live until it is complete.
 * Freed some time after that. */
float *operation_keep(struct operation *, size_t floats);
/* All keys were added: posts the rest. Returns the ticket; 0 if the operation is complete. */
locus_ticket operation_submit(struct operations *, struct operation *);

/* The same, and waits for it; meanwhile it may act for the shard. */
int operation_run(struct operations *, struct operation *);

/* Asks all shards for what quiesce needs (request.h), and waits for it. */
int operations_flush(struct operations *, enum request_kind);

/* Asks the shards whose gate has not reached `clock` (protocol/clocks.h), and waits for them; `say`
 * is called every ten seconds meanwhile. */
int operations_bound(struct operations *, struct clocks **, locus_clock clock,
                     void (*say)(void *context, unsigned waited_s), void *context);

/* Could an operation with `keys` remote keys be submitted without waiting? */
bool operations_would_wait(const struct operations *, size_t keys);

/* 0; -EINVAL for a ticket that was never given out. */
int operations_check(const struct operations *, const char *call, locus_ticket);
/* The operation's result; 0 for one that was waited for, or is forgotten. */
int operations_wait(struct operations *, locus_ticket);
int operations_wait_all(struct operations *);
bool operations_done(const struct operations *, locus_ticket);
bool operations_all_done(const struct operations *);

/* May anything be under way for one of these keys? Then an access to it must go through its shard.
 * Sometimes true for other keys. */
bool operations_hold(struct operations *, const locus_key *keys, size_t n);

static inline uint32_t *operations_under_way(const struct operations *o, locus_key key)
{
    return &o->under_way[key * UINT64_C(0x9E3779B97F4A7C15) >> 32 & (OPERATIONS_PLACES - 1)];
}

/* The same for one key, as of the last call of operations_hold() or operation_add(). */
static inline bool operations_hold_key(const struct operations *o, locus_key key)
{
    return __builtin_expect(o->keys_under_way > 0, 0) && *operations_under_way(o, key) > 0;
}

/* Of the pool. */
size_t operations_bytes(const struct operations *);

/* From the shard's thread: one request is done. */
void operation_request_done(struct request *, int rc);

#endif
