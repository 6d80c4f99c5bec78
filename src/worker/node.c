#include "worker/node.h"

#include "base/error.h"
#include "base/figures.h"
#include "base/sync.h"
#include "intents/intents.h"
#include "protocol/clocks.h"

#include <errno.h>
#include <stdlib.h>

/* ---- what is counted ---- */

#define AT_STATS(sums, field) offsetof(struct figures, stats.field)
#define AT_ONLY(sums, field) offsetof(struct figures, sums.field)
#define IS_REAL_STATS(sums, field) \
    _Generic(((struct figures *)0)->stats.field, double : true, default : false)
#define IS_REAL_ONLY(sums, field) false
#define ROW(sums, to, field, report, shown, metric, label, help) \
    {report, metric, label, help, shown, IS_REAL_##to(sums, field), AT_##to(sums, field)},
#define WORKER_ROW(...) ROW(workers, __VA_ARGS__)
#define NODE_ROW(...) ROW(stats, __VA_ARGS__)
#define SHARD_ROW(...) ROW(shards, __VA_ARGS__)
#define LINK_ROW(...) ROW(links, __VA_ARGS__)

const struct figure figure_table[] = {WORKER_FIGURES(WORKER_ROW) NODE_FIGURES(NODE_ROW)
                                          SHARD_FIGURES(SHARD_ROW) LINK_FIGURES(LINK_ROW)};
const size_t figure_rows = sizeof figure_table / sizeof *figure_table;

double figure_value(const struct figure *row, const struct figures *f)
{
    const char *at = (const char *)f + row->offset;
    return row->is_real ? *(const double *)(const void *)at
                        : (double)*(const uint64_t *)(const void *)at;
}

struct shard_counters figures_shards(struct cluster *c)
{
    struct shard_counters sum = {0};
    for (unsigned s = 0; s < cluster_shards(c); s++)
        shard_add_counters(reactor_shard(cluster_reactors(c)[s]), &sum);
    return sum;
}

static void add_worker(const locus_worker *w, struct figures *f)
{
#define ADD(to, field, ...) \
    f->workers.field += __atomic_load_n(&w->counters.field, __ATOMIC_RELAXED);
    WORKER_FIGURES(ADD)
    histogram_sum(&f->behind, &w->behind);
    f->stats.intents_signaled += __atomic_load_n(&w->signaled, __ATOMIC_RELAXED);
    f->stats.calls_waited += histogram_count(&w->operations.blocked);
    f->stats.calls_waited_s +=
        1e-9 * (double)__atomic_load_n(&w->operations.blocked.sum, __ATOMIC_RELAXED);
}

#define COPY_STATS(sums, field) f->stats.field = f->sums.field;
#define COPY_ONLY(sums, field)
#define COPY_WORKER(to, field, ...) COPY_##to(workers, field)
#define COPY_SHARD(to, field, ...) COPY_##to(shards, field)
#define COPY_LINK(to, field, ...) COPY_##to(links, field)

static void read_cluster(const locus *n, struct figures *f)
{
    struct locus_stats *s = &f->stats;
    for (unsigned i = 0; i < cluster_shards(n->cluster) * (unsigned)n->size; i++)
        reactor_add_link(node_reactor(n, i / (unsigned)n->size), i % (unsigned)n->size, &f->links);
    f->shards = figures_shards(n->cluster);
    LINK_FIGURES(COPY_LINK)
    SHARD_FIGURES(COPY_SHARD)
    s->replicas_now = s->replicas_created - s->replicas_dropped;
    s->kept_now = f->shards.keeps_begun - f->shards.keeps_ended;
    if (f->shards.stale_us)
        s->replica_staleness_mean_s = 1e-6 * shard_aged_us(&f->shards) / (double)f->shards.stale_us;
    s->owned_now += s->relocated_in - s->relocated_out;
    /* Every row is here from the start, written or not. */
    if (n->plan.technique->every_node_holds)
        s->replicas_created = s->replicas_now = n->store.keyspace.keys - s->owned_now;
}

void figures_read(const locus *n, struct figures *f)
{
    struct locus_stats *s = &f->stats;
    *f = (struct figures){0};
    for (unsigned i = 0; i < n->workers; i++) add_worker(&n->worker[i], f);
    WORKER_FIGURES(COPY_WORKER)
    s->bounds_waited_s = 1e-9 * (double)f->workers.bounds_waited_ns;
    s->owned_now = store_home_keys(&n->store);
    if (n->cluster) read_cluster(n, f);
}

/* ---- what workers tell the shards ---- */

static unsigned shards_of(const locus_worker *w)
{
    return w->store->keyspace.shards;
}

int signaling_open(locus_worker *w, struct intent_stream ***streams)
{
    *streams = NULL;
    if (!w->node->heeds_intents) return 0;
    struct intent_stream **stream = calloc(shards_of(w), sizeof(struct intent_stream *));
    bool ok = stream != NULL;
    for (unsigned s = 0; ok && s < shards_of(w); s++) {
        stream[s] = intents_open_stream(w->node->intents[s], (unsigned)w->id);
        ok = stream[s] != NULL;
    }
    *streams = stream;
    if (ok) return 0;
    signaling_close(w, streams, false);
    return error_set(-ENOMEM, "no memory for the intents of worker %d", w->id);
}

static void wake(const locus_worker *w, unsigned shard)
{
    reactor_wake(node_reactor(w->node, shard));
}

void signaling_close(locus_worker *w, struct intent_stream ***streams, bool ends_worker)
{
    if (!*streams) return;
    for (unsigned s = 0; s < shards_of(w); s++) {
        if (!(*streams)[s]) continue;
        stream_close((*streams)[s], ends_worker);
        wake(w, s);
    }
    free(*streams);
    *streams = NULL;
}

/* Did the worker go on while a loader raised ends of its wants? Sequentially consistent: either we
 * see its clock here, or the shard sees what was raised when it looks at that clock. */
static bool came_late(const locus_worker *w, struct intent_stream **streams)
{
    LOCUS_YIELD();
    FENCE(__ATOMIC_SEQ_CST);
    locus_clock now = __atomic_load_n(&w->clock, __ATOMIC_SEQ_CST);
    bool is_late = false;
    for (unsigned s = 0; s < shards_of(w); s++) is_late |= stream_came_late(streams[s], now);
    return is_late;
}

static int add(const locus_worker *w, struct intent_stream **streams, const locus_key *keys,
               size_t n, int stream_takes(struct intent_stream *, uint64_t))
{
    enum { AHEAD = 8 }; /* keys that are looked up together */
    const struct keyspace *k = &w->store->keyspace;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i += AHEAD) {
        struct intent_stream *stream[AHEAD];
        uint64_t index[AHEAD];
        size_t count = n - i < AHEAD ? n - i : AHEAD;
        for (size_t j = 0; j < count; j++) {
            index[j] = keyspace_index(k, keys[i + j]);
            stream[j] = streams[keys[i + j] - index[j] * k->shards];
            __builtin_prefetch(stream_wants(stream[j], index[j]), 1);
        }
        for (size_t j = 0; j < count && rc == 0; j++) rc = stream_takes(stream[j], index[j]);
    }
    return rc;
}

/* How many keys were written, or -ENOMEM: none. */
static int64_t send_intents(locus_worker *w, struct intent_stream **streams, const locus_key *keys,
                            size_t n, locus_clock start, locus_clock end, locus_clock now)
{
    for (unsigned s = 0; s < shards_of(w); s++)
        stream_begin(streams[s], start, end, now,
                     intents_lookahead(w->node->intents[s], (unsigned)w->id));
    LOCUS_YIELD();
    int rc = add(w, streams, keys, n, stream_add);
    if (rc == 0 && came_late(w, streams)) rc = add(w, streams, keys, n, stream_write);
    int64_t written = 0;
    for (unsigned s = 0; s < shards_of(w); s++) {
        written += (int64_t)streams[s]->call.added;
        if (rc) stream_undo(streams[s]);
    }
    if (rc == 0) return written;
    return error_set(rc, "no memory for the intents of worker %d", w->id);
}

static void publish(locus_worker *w, struct intent_stream **streams, locus_clock start,
                    locus_clock now)
{
    for (unsigned s = 0; s < shards_of(w); s++) {
        if (!stream_has_unpublished(streams[s])) continue;
        stream_publish(streams[s]);
        if (intents_published(w->node->intents[s], (unsigned)w->id, start, now)) wake(w, s);
    }
}

/* Wants of the node that wait for their start; the shards subtract those that no longer do. Who
 * passes the bound adds nothing: others would find no room meanwhile. */
static int count_waiting(uint64_t *node_keys, uint64_t n)
{
    uint64_t waiting = __atomic_load_n(node_keys, __ATOMIC_RELAXED);
    do {
        if (n > LOCUS_WAITING_KEYS_MAX || waiting > LOCUS_WAITING_KEYS_MAX - n)
            return error_set(-ENOBUFS,
                             "%llu keys of this node wait for the start of their intent, %llu more "
                             "pass the limit of %d: signal later",
                             (unsigned long long)waiting, (unsigned long long)n,
                             LOCUS_WAITING_KEYS_MAX);
    } while (!__atomic_compare_exchange_n(node_keys, &waiting, waiting + n, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return 0;
}

int signaling_intent(locus_worker *w, struct intent_stream **streams, const locus_key *keys,
                     size_t n, locus_clock start, locus_clock end)
{
    locus_clock now = locus_current_clock(w);
    if (start < now) start = now;
    bool waits = start > now;
    int rc = streams && waits ? count_waiting(&w->node->waiting_keys, n) : 0;
    if (rc) return rc;
    int64_t written = streams && end > now ? send_intents(w, streams, keys, n, start, end, now) : 0;
    /* a want that goes on does not wait; and a call that came late counts keys twice */
    if (streams && waits)
        __atomic_fetch_add(&w->node->waiting_keys, (written < 0 ? 0 : written) - (int64_t)n,
                           __ATOMIC_RELAXED);
    if (written < 0) return (int)written;
    __atomic_fetch_add(&w->signaled, n, __ATOMIC_RELAXED);
    if (written > 0) publish(w, streams, start, now);
    return 0;
}

int signaling_unintend(locus_worker *w, const locus_key *keys, size_t n)
{
    if (!w->stream) return 0;
    locus_clock now = locus_current_clock(w);
    int64_t rc = send_intents(w, w->stream, keys, n, now, INTENT_TAKES_BACK, now);
    if (rc > 0) publish(w, w->stream, now, now);
    return rc < 0 ? (int)rc : 0;
}

/* To the shards that count clocks (bounded staleness). */
static void tell_clocks(const locus_worker *w, locus_clock now)
{
    for (unsigned s = 0; w->node->clocks && s < shards_of(w); s++)
        if (clocks_advanced(w->node->clocks[s], now)) wake(w, s);
}

void signaling_advance(locus_worker *w, locus_clock now)
{
    for (unsigned s = 0; w->stream && s < shards_of(w); s++)
        if (intents_advanced(w->node->intents[s], (unsigned)w->id, now)) wake(w, s);
    tell_clocks(w, now);
}

void signaling_progress(locus_worker *w, locus_clock now)
{
    __atomic_store_n(&w->progress, now, __ATOMIC_SEQ_CST);
    tell_clocks(w, now);
}
