/* Intent and clocks, of workers and loaders. */
#include "base/error.h"
#include "worker/call.h"

#include <errno.h>

/* `streams`: the worker's or the loader's. */
static int signal_intent(const char *call, locus_worker *w, struct intent_stream **streams,
                         const locus_key *keys, size_t n, locus_clock start, locus_clock end)
{
    if (!call_has_keys(n)) return call_no_count(call, n);
    if (!w) return call_no_worker(call);
    if (end <= start)
        return error_set(-EINVAL, "%s: the intent ends at clock %lld, not after its start at %lld",
                         call, (long long)end, (long long)start);
    if (!keys) return call_no_array(call, "keys", n);
    if (!call_in_range(w, keys, n)) return call_no_such_key(call, w, keys, n);
    return signaling_intent(w, streams, keys, n, start, end);
}

int locus_intent(locus_worker *w, const locus_key *keys, size_t n, locus_clock start,
                 locus_clock end)
{
    return signal_intent("locus_intent", w, w ? w->stream : NULL, keys, n, start, end);
}

int locus_unintend(locus_worker *w, const locus_key *keys, size_t n)
{
    if (!call_has_keys(n)) return call_no_count("locus_unintend", n);
    if (!w) return call_no_worker("locus_unintend");
    if (!keys) return call_no_array("locus_unintend", "keys", n);
    if (!call_in_range(w, keys, n)) return call_no_such_key("locus_unintend", w, keys, n);
    return signaling_unintend(w, keys, n);
}

locus_clock locus_advance_clock(locus_worker *w)
{
    if (call_check_worker("locus_advance_clock", w)) return locus_current_clock(w);
    locus_clock now = w->clock + 1;
    __atomic_store_n(&w->progress, now, __ATOMIC_RELAXED);
    if (!w->node->cluster) { /* nobody sleeps who would have to be woken */
        __atomic_store_n(&w->clock, now, __ATOMIC_RELAXED);
        return now;
    }
    __atomic_exchange_n(&w->clock, now, __ATOMIC_SEQ_CST); /* node.h says why */
    signaling_advance(w, now);
    return now;
}

locus_clock locus_current_clock(const locus_worker *w)
{
    return w ? __atomic_load_n(&w->clock, __ATOMIC_RELAXED) : 0;
}

int locus_loader_intent(locus_loader *l, const locus_key *keys, size_t n, locus_clock start,
                        locus_clock end)
{
    int rc = call_check_loader("locus_loader_intent", l);
    if (rc) return rc;
    return signal_intent("locus_loader_intent", l->worker, l->stream, keys, n, start, end);
}
