/* Bounded staleness: SSP, ESSP, BSP. */
#include "base/error.h"
#include "base/sync.h"
#include "base/time.h"
#include "protocol/clocks.h"
#include "worker/call.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- a cluster of one: others' clocks are all there is to wait for ---- */

enum { POLL_NS = 200000, SAY_EVERY_S = 10 };

struct awaited {
    const locus_worker *worker; /* who waits, */
    locus_clock clock;          /*   until the others are there */
};

void call_report_clock(locus *n)
{
    locus_clock reported = __atomic_load_n(&n->reported, __ATOMIC_ACQUIRE), low = INT64_MAX;
    for (unsigned i = 0; i < n->workers; i++) {
        locus_clock at = __atomic_load_n(&n->worker[i].progress, __ATOMIC_ACQUIRE);
        if (at >= reported && at < low) low = at;
    }
    while (low < INT64_MAX && low > reported &&
           !__atomic_compare_exchange_n(&n->reported, &reported, low, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
        continue;
}

/* The first worker that counts and is not there; -1: all are. */
static int who_lags(const locus *n, locus_clock clock)
{
    locus_clock reported = __atomic_load_n(&n->reported, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < n->workers; i++) {
        locus_clock at = __atomic_load_n(&n->worker[i].progress, __ATOMIC_ACQUIRE);
        if (at >= reported && at < clock) return (int)i;
    }
    return -1;
}

static bool are_there(const void *awaited)
{
    const struct awaited *a = awaited;
    return who_lags(a->worker->node, a->clock) < 0;
}

static void say_local(const locus_worker *w, locus_clock clock, unsigned waited_s)
{
    int last = who_lags(w->node, clock);
    if (last < 0) return;
    fprintf(stderr,
            "locus: worker %d has waited %u s in locus_bound for clock %lld: worker %d is at clock "
            "%lld\n",
            w->id, waited_s, (long long)clock, last,
            (long long)__atomic_load_n(&w->node->worker[last].progress, __ATOMIC_RELAXED));
}

#ifdef LOCUS_FIBERS
static void wait_local(const struct awaited *a)
{
    (void)say_local;
    locus_fiber_wait(are_there, a);
}
#else
/* Nobody wakes us: advancing a clock costs nothing here. */
static void wait_local(const struct awaited *a)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    uint64_t began = time_now_ns();
    for (unsigned said_s = 0; !are_there(a);) {
        nanosleep(&pause, NULL);
        if (time_now_ns() - began < (said_s + SAY_EVERY_S) * UINT64_C(1000000000)) continue;
        said_s += SAY_EVERY_S;
        say_local(a->worker, a->clock, said_s);
    }
}
#endif

/* ---- a cluster ---- */

static void say_others(void *context, unsigned waited_s)
{
    const struct awaited *a = context;
    const locus_worker *w = a->worker;
    const locus *n = w->node;
    locus_clock at, least = INT64_MAX;
    unsigned last = (unsigned)n->rank;
    for (unsigned s = 0; s < w->store->keyspace.shards; s++) {
        unsigned node = clocks_last(n->clocks[s], (unsigned)n->size, (unsigned)n->rank, &at);
        if (at < least) least = at, last = node;
    }
    if (last == (unsigned)n->rank && who_lags(n, a->clock) >= 0) {
        say_local(w, a->clock, waited_s);
        return;
    }
    fprintf(stderr,
            "locus: worker %d has waited %u s in locus_bound for clock %lld: node %u is at clock "
            "%lld; its workers must advance their clocks, or close\n",
            w->id, waited_s, (long long)a->clock, last, (long long)least);
}

/* Before this clock everything that was done is in the rows here. */
static locus_clock fresh_clock(const locus *n)
{
    locus_clock least = INT64_MAX;
    for (unsigned s = 0; s < n->store.keyspace.shards; s++) {
        locus_clock gate = clocks_gate(n->clocks[s]);
        if (gate < least) least = gate;
    }
    return least;
}

/* How far the rows here are behind as the worker goes on. Without other nodes they are not. */
static void count_behind(locus_worker *w)
{
    const locus *n = w->node;
    if (!n->clocks) return;
    locus_clock fresh = fresh_clock(n);
    uint64_t behind = fresh < w->clock ? (uint64_t)(w->clock - fresh) : 0;
    unsigned bucket = behind < LOCUS_HISTOGRAM_BUCKETS ? (unsigned)behind
                                                       : LOCUS_HISTOGRAM_BUCKETS - 1;
    counter_add(&w->behind.count[bucket], 1);
    counter_add(&w->behind.sum, behind);
}

int locus_bound(locus_worker *w, locus_clock staleness)
{
    int rc = call_check_worker("locus_bound", w);
    if (rc) return rc;
    if (staleness < 0)
        return error_set(-EINVAL, "locus_bound: the staleness is %lld clocks: must be 0 or more",
                         (long long)staleness);
    if (w->reader.depth > 0) return call_in_section("locus_bound");
    locus *n = w->node;
    locus_clock clock = w->clock - staleness;
    if (clock <= 0) return 0;
    if (!n->clocks) call_report_clock(n);
    if (!(n->clocks ? fresh_clock(n) >= clock : who_lags(n, clock) < 0)) {
        uint64_t began = time_now_ns();
        struct awaited a = {w, clock};
        if (n->clocks)
            rc = call_name_loss(w,
                                operations_bound(&w->operations, n->clocks, clock, say_others, &a));
        else
            wait_local(&a);
        counter_add(&w->counters.bounds_waited, 1);
        counter_add(&w->counters.bounds_waited_ns, time_now_ns() - began);
    }
    copies_drain_all(w->store); /* what other workers did may be in theirs */
    if (rc == 0) count_behind(w);
    return rc;
}
