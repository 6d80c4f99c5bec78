/*
 * call.h - what the public calls of a worker share: checking of arguments, and sentences for
 * errors.
 *
 * Callers   the worker's thread; those for loaders the loader's
 * Memory    none
 * Waiting   only call_flush, call_flush_updates
 * Life      none
 */
#ifndef LOCUS_WORKER_CALL_H
#define LOCUS_WORKER_CALL_H

#include "worker/node.h"

#include <errno.h>

/* Each sets the sentence for the call named `call`, and returns the errno. */
int call_no_worker(const char *call);
/* For a worker whose bound is 0: it is closed, or another process's. 0: neither, so a node was
 * lost. */
int call_why_not(const char *call, const locus_worker *) __attribute__((cold));
/* For an n that no array has: 0 is fine, all others are wrong. */
int call_no_count(const char *call, size_t n) __attribute__((cold));
int call_no_array(const char *call, const char *name, size_t n) __attribute__((cold));
int call_no_such_key(const char *call, const locus_worker *, const locus_key *keys, size_t n)
    __attribute__((cold));
/* Of n keys, one is not below `bound`. */
int call_bad_key(const char *call, uint64_t bound, const locus_key *keys, size_t n)
    __attribute__((cold));
/* Too many rows left during an open read section. */
int call_no_slot(const char *call) __attribute__((cold));
/* The call would wait inside a read section. */
int call_in_section(const char *call);
/* For a result that may mean that a node was lost: then sets the sentence that names the node. */
int call_name_loss(const locus_worker *, int rc);
/* Of a checkpoint or restore: a call for rows that counts as no access. */
int call_access(locus_worker *, enum request_kind, const locus_key *, size_t n, float *values);
/* Bounds on a cluster of one: its workers' lowest clock is what one that opens again must pass to
 * count (protocol/clocks.h). */
void call_report_clock(locus *);
/* Waits for this node's shards to do what quiesce needs, where rows move. */
int call_flush(locus_worker *, enum request_kind);
/* The worker's calls are done, and its updates in the main copies. Where rows move two meetings make
 * a quiesce: behind the first, before which all do this, main copies are final; behind the second,
 * before which all flush REQUEST_FLUSH_REPLICAS, replicas are equal to them. */
int call_flush_updates(locus_worker *);

/* For a collective of several meetings: the losses whose repair is over here, before its first flush;
 * and after the last one MEETING_REPEATS, to be said by this worker, if there was another one, or 0. */
uint32_t call_repaired(const locus_worker *);
int call_repeats(const locus_worker *, uint32_t repaired);

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

/* One comparison for the n that need no access, or are longer than memory. */
static inline bool call_has_keys(size_t n)
{
    return n - 1 < (size_t)PTRDIFF_MAX / sizeof(locus_key);
}

/* 0, or why the worker cannot be used at all. A node that was lost is no reason yet. */
static inline int call_check_worker(const char *call, const locus_worker *w)
{
    if (!w) {
        call_no_worker(call);
        return -EINVAL; /* what an analyzer would not know of that */
    }
    return __builtin_expect(call_key_bound(w) == 0, 0) ? call_why_not(call, w) : 0;
}

/* NULL or closed: sets the sentence. */
bool call_is_gone(const char *call, const locus *);
/* 0, or why this node cannot be used: gone, or another process's. */
int call_check_node(const char *call, const locus *);

/* 0, or why the loader cannot be used. */
int call_check_loader(const char *call, const locus_loader *);

/* 0, or why this call is impossible. n is not 0. */
static inline int call_check(const char *call, const char *name, locus_worker *w,
                             const locus_key *keys, size_t n, const void *values)
{
    if (!w) return call_no_worker(call);
    if (!keys) return call_no_array(call, "keys", n);
    if (!values) return call_no_array(call, name, n);
    return call_in_range(w, keys, n) ? 0 : call_no_such_key(call, w, keys, n);
}

/* A branch, because the processor predicts it: so the choice of the counter need not wait for the
 * row's word. */
static inline void count_read(locus_worker *w, int replica)
{
    if (__builtin_expect(replica, 0))
        counter_add(&w->counters.pulled[COUNT_REPLICA], 1);
    else
        counter_add(&w->counters.pulled[COUNT_LOCAL], 1);
}

#endif
