/*
 * call.h - what the public calls of a worker have in common: checking what they are given, and the
 * sentences.
 *
 * Callers   access.c, reading.c, intent.c, worker.c, on the worker's thread; those for loaders on
 *           the loader's
 * Memory    none
 * Waiting   never, but for call_flush
 * Life      none
 */
#ifndef LOCUS_CALL_H
#define LOCUS_CALL_H

#include "node.h"
#include "observer.h"

/* Each sets the sentence for `call` and returns the errno. */
int call_no_worker(const char *call);
int call_no_array(const char *call, const char *name, size_t n) __attribute__((cold));
int call_no_such_key(const char *call, const locus_worker *, const locus_key *keys, size_t n)
    __attribute__((cold));
/* A read section has been open while too many rows left. */
int call_no_slot(const char *call) __attribute__((cold));
/* It would wait inside a read section. */
int call_in_section(const char *call);
/* A result that may mean that a node was lost: then the sentence says which. */
int call_name_loss(const locus_worker *, int rc);
/* Waits for what quiesce needs of this node's shards. */
int call_flush(locus_worker *, enum request_kind);

static inline struct partition *worker_only(const locus_worker *w)
{
    return __atomic_load_n(&w->only, __ATOMIC_RELAXED);
}

static inline uint64_t call_key_bound(const locus_worker *w)
{
    return __atomic_load_n(&w->bound, __ATOMIC_RELAXED);
}

static inline bool call_in_range(const locus_worker *w, const locus_key *keys, size_t n)
{
    uint64_t bound = call_key_bound(w);
    bool ok = true;
    for (size_t i = 0; i < n; i++) ok &= keys[i] < bound;
    return ok;
}

/* 0, or why this call cannot be. n is not 0. */
static inline int call_check(const char *call, const char *name, locus_worker *w,
                             const locus_key *keys, size_t n, const void *values)
{
    if (!w) return call_no_worker(call);
    if (!keys) return call_no_array(call, "keys", n);
    if (!values) return call_no_array(call, name, n);
    return call_in_range(w, keys, n) ? 0 : call_no_such_key(call, w, keys, n);
}

/* Where there is a bound on staleness (`sources` of the node): is one of these rows a replica that
 * may be too old to answer, for a node that the shard has replicas of was silent for too long?
 * Asked before the rows are read. */
bool call_hides(const locus_worker *, const locus_key *, size_t n);

/* A branch, which the processor predicts: it need not wait for the row's word to know which
 * counter. */
static inline void count_read(locus_worker *w, int replica)
{
    if (__builtin_expect(replica, 0))
        counter_add(&w->counters.pulled[COUNT_REPLICA], 1);
    else
        counter_add(&w->counters.pulled[COUNT_LOCAL], 1);
}

#endif
