/* Workers and loaders open and close; intents and clocks; collectives. */
#include "api/parts.h"
#include "base/error.h"
#include "worker/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns when rank 0 counts the node as present: a meeting that begins later waits for it. */
static int open_place(locus *n)
{
    int rc = n->cluster ? cluster_loss(n->cluster) : 0;
    if (rc) return rc;
    pthread_mutex_lock(&n->presence);
    bool was_absent = collective_all_closed(&n->collective);
    int id = collective_open(&n->collective);
    if (id < 0)
        error_set(id, "all %u workers of this node are open: raise `workers` in its configuration",
                  n->workers);
    if (n->cluster && was_absent && id >= 0) rc = cluster_absent(n->cluster, false);
    if (rc) collective_close(&n->collective, id, PLACE_CLOSED); /* a node was lost */
    pthread_mutex_unlock(&n->presence);
    return rc ? rc : id;
}

/* `as`: as what it is kept. */
static void close_place(locus *n, int id, enum collective_place as)
{
    pthread_mutex_lock(&n->presence);
    collective_close(&n->collective, id, as);
    if (n->cluster && collective_all_closed(&n->collective)) cluster_absent(n->cluster, true);
    pthread_mutex_unlock(&n->presence);
}

int locus_worker_open(locus *node, locus_worker **out)
{
    if (!out) return error_set(-EINVAL, "locus_worker_open: `out` is NULL");
    *out = NULL;
    int rc = call_check_node("locus_worker_open", node);
    if (rc) return rc;
    int id = open_place(node);
    if (id < 0) return id;
    locus_worker *w = &node->worker[id];
    locus_clock clock = __atomic_exchange_n(&w->clock, 0, __ATOMIC_RELAXED);
    rc = signaling_open(w, &w->stream);
    if (rc) {
        __atomic_store_n(&w->clock, clock, __ATOMIC_RELAXED);
        close_place(node, id, w->progress == 0 ? PLACE_NEVER_OPENED : PLACE_CLOSED);
        return rc;
    }
    call_report_clock(node);
    signaling_progress(w, 0);
    __atomic_store_n(&w->bound, node->store.keyspace.keys, __ATOMIC_RELAXED);
    /* A loss before this line has set the bound to 0 too early. */
    if (node->cluster && cluster_loss(node->cluster))
        __atomic_store_n(&w->bound, 0, __ATOMIC_RELAXED);
    *out = w;
    return 0;
}

/* With relocation alone there are those that the node keeps, or has kept. */
static bool has_replicas(const locus *n)
{
    if (!n->moves) return false;
    return !n->plan.technique->rows_follow || figures_shards(n->cluster).keeps_begun > 0;
}

int locus_worker_close(locus_worker *w)
{
    int rc = w ? call_check_worker("locus_worker_close", w) : 0;
    if (!w || rc) return rc;
    if (w->reader.depth > 0) return call_in_section("locus_worker_close");
    unsigned loaders = __atomic_load_n(&w->loaders, __ATOMIC_ACQUIRE);
    if (loaders)
        return error_set(-EBUSY, "%u loaders of worker %d are still open: close them first",
                         loaders, w->id);
    signaling_close(w, &w->stream, true);
    rc = locus_wait_all(w);
    copies_drain(w->copies);
    /* Nobody quiesces for us any more; the others may go on. */
    if (rc == 0 && has_replicas(w->node)) rc = call_flush(w, REQUEST_FLUSH_EARLIER);
    samples_close(&w->samples);
    parts_close(w);
    __atomic_store_n(&w->bound, 0, __ATOMIC_RELAXED);
    call_report_clock(w->node);
    signaling_progress(w, INT64_MAX);
    close_place(w->node, w->id, PLACE_CLOSED);
    return rc;
}

int locus_worker_id(const locus_worker *w)
{
    int rc = call_check_worker("locus_worker_id", w);
    return rc ? rc : w->id;
}

int locus_loader_open(locus_worker *w, locus_loader **out)
{
    if (!out) return error_set(-EINVAL, "locus_loader_open: `out` is NULL");
    *out = NULL;
    int rc = call_check_worker("locus_loader_open", w);
    if (rc) return rc;
    locus_loader *l = malloc(sizeof *l);
    if (!l) return error_set(-ENOMEM, "no memory for a loader");
    l->worker = w;
    rc = signaling_open(w, &l->stream);
    if (rc) {
        free(l);
        return rc;
    }
    __atomic_fetch_add(&w->loaders, 1, __ATOMIC_RELAXED);
    *out = l;
    return 0;
}

int locus_loader_close(locus_loader *l)
{
    int rc = l ? call_check_loader("locus_loader_close", l) : 0;
    if (l && rc == 0) rc = call_check_worker("locus_loader_close", l->worker);
    if (!l || rc) return rc;
    signaling_close(l->worker, &l->stream, false);
    /* Release: pairs with the acquire in locus_worker_close(), which may free what this loader
     * used. */
    __atomic_fetch_sub(&l->worker->loaders, 1, __ATOMIC_RELEASE);
    l->worker = NULL;
    closed_keep(l, NULL, sizeof *l);
    return 0;
}

/* ---- intents and clocks ---- */

/* `streams`: the worker's or the loader's. */
static int signal_intent(const char *call, locus_worker *w, struct intent_stream **streams,
                         const locus_key *keys, size_t n, locus_clock start, locus_clock end)
{
    if (!call_has_keys(n)) return call_no_count(call, n);
    int rc = call_check(call, "keys", w, keys, n, keys);
    if (rc) return rc;
    if (end > start) return signaling_intent(w, streams, keys, n, start, end);
    return error_set(-EINVAL, "%s: the intent ends at clock %lld, not after its start at %lld",
                     call, (long long)end, (long long)start);
}

int locus_intent(locus_worker *w, const locus_key *keys, size_t n, locus_clock start,
                 locus_clock end)
{
    return signal_intent("locus_intent", w, w ? w->stream : NULL, keys, n, start, end);
}

int locus_unintend(locus_worker *w, const locus_key *keys, size_t n)
{
    if (!call_has_keys(n)) return call_no_count("locus_unintend", n);
    int rc = call_check("locus_unintend", "keys", w, keys, n, keys);
    return rc ? rc : signaling_unintend(w, keys, n);
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

/* ---- collectives ---- */

static int agree(const char *call, locus_worker *w, enum collective_kind kind, struct word *word)
{
    int rc = call_check_worker(call, w);
    if (rc) return rc;
    if (w->reader.depth > 0) return call_in_section(call);
    copies_drain(w->copies);
    rc = collective_agree(&w->node->collective, w->id, kind, word);
    return call_name_loss(w, rc);
}

static int meet(const char *call, locus_worker *w, enum collective_kind kind)
{
    struct word nothing = {.rc = 0};
    return agree(call, w, kind, &nothing);
}

int locus_barrier(locus_worker *w)
{
    return meet("locus_barrier", w, COLLECTIVE_BARRIER);
}

static int add_up(const char *call, locus_worker *w, enum collective_kind kind, double *values,
                  size_t n)
{
    struct word word = {.count = (unsigned)n};
    if (n > 0 && !values)
        return error_set(-EINVAL, "%s: `values` is NULL for %zu numbers", call, n);
    if (n > LOCUS_SUM_MAX)
        return error_set(-EINVAL, "%s: n is %zu: must be at most %d", call, n, LOCUS_SUM_MAX);
    if (n > 0) memcpy(word.number, values, n * sizeof *values);
    int rc = agree(call, w, kind, &word);
    if (rc == 0 && n > 0) memcpy(values, word.number, n * sizeof *values);
    return rc;
}

int locus_sum(locus_worker *w, double *values, size_t n)
{
    int rc = call_check_worker("locus_sum", w);
    return rc || n == 0 ? rc : add_up("locus_sum", w, COLLECTIVE_SUM, values, n);
}

int locus_meet(locus_worker *w, double *values, size_t n)
{
    int rc = call_check_worker("locus_meet", w);
    return rc ? rc : add_up("locus_meet", w, COLLECTIVE_MEET, values, n);
}

/* Replicas of a lost node's rows are told to other owners, which the first flush does after the
 * repair: so a loss that came between makes it begin again. */
static int quiesce(locus_worker *w)
{
    bool two = w->node->moves;
    uint32_t repaired = call_repaired(w);
    int rc = call_flush_updates(w);
    if (rc == 0) rc = meet("locus_quiesce", w, two ? COLLECTIVE_UPDATES : COLLECTIVE_QUIESCE);
    if (rc || !two) return rc;
    rc = call_flush(w, REQUEST_FLUSH_REPLICAS);
    if (rc) return rc;
    struct word word = {.rc = call_repeats(w, repaired)};
    return agree("locus_quiesce", w, COLLECTIVE_REPLICAS, &word);
}

int locus_quiesce(locus_worker *w)
{
    if (call_check_worker("locus_quiesce", w) || w->reader.depth > 0)
        return meet("locus_quiesce", w, COLLECTIVE_QUIESCE); /* which says why not */
    int rc;
    do rc = quiesce(w);
    while (rc == MEETING_REPEATS);
    return rc;
}
