#include "observe/metrics.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/footprint.h"
#include "base/histogram.h"
#include "net/forked.h"
#include "node/node.h"
#include "observe/explain.h"
#include "observe/exposition.h"
#include "observe/hottest.h"
#include "observe/httpd.h"
#include "observe/observer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what the node counts ---- */

static void put_places(struct exposition *e, const char *name, const char *help,
                       const uint64_t place[COUNT_PLACES])
{
    exposition_head(e, name, "counter", help);
    exposition_labeled(e, name, "place", "local", (double)place[COUNT_LOCAL]);
    exposition_labeled(e, name, "place", "replica", (double)place[COUNT_REPLICA]);
    exposition_labeled(e, name, "place", "remote", (double)place[COUNT_REMOTE]);
}

static void put_accesses(struct exposition *e, const struct locus_stats *s)
{
    uint64_t pulled[COUNT_PLACES], pushed[COUNT_PLACES];
    pulled[COUNT_LOCAL] = s->pulled_local;
    pulled[COUNT_REPLICA] = s->pulled_replica;
    pulled[COUNT_REMOTE] = s->pulled_remote;
    pushed[COUNT_LOCAL] = s->pushed_local;
    pushed[COUNT_REPLICA] = s->pushed_replica;
    pushed[COUNT_REMOTE] = s->pushed_remote;
    put_places(e, "locus_pulled_keys_total",
               "Keys pulled: main copy here, replica here, or at another node.", pulled);
    put_places(e, "locus_pushed_keys_total",
               "Keys pushed or set: main copy here, replica here, or at another node.", pushed);
}

static void put_one(struct exposition *e, const char *name, const char *kind, const char *help,
                    uint64_t value)
{
    exposition_head(e, name, kind, help);
    exposition_count(e, name, value);
}

static void put_rows(struct exposition *e, const struct locus_stats *s)
{
    const char *moved = "locus_relocated_rows_total";
    exposition_head(e, moved, "counter", "Rows whose main copy came here, or left.");
    exposition_labeled(e, moved, "direction", "in", (double)s->relocated_in);
    exposition_labeled(e, moved, "direction", "out", (double)s->relocated_out);
    put_one(e, "locus_forwarded_requests_total", "counter",
            "Requests of other nodes that this one passed on to where the row is.", s->forwards);
}

static void put_replicas(struct exposition *e, const locus *n, const struct locus_stats *s)
{
    const char *age = "locus_replica_staleness_seconds";
    put_one(e, "locus_replicas_created_total", "counter", "Replicas that came here.",
            s->replicas_created);
    put_one(e, "locus_replicas_dropped_total", "counter", "Replicas that this node gave up.",
            s->replicas_dropped);
    put_one(e, "locus_replicas", "gauge", "Replicas that are here.", s->replicas_now);
    exposition_head(
        e, age, "gauge",
        "Age of replicas since the owner's last frame, mean since the node was opened.");
    exposition_real(e, age, s->replica_staleness_mean_s);
    if (n->sources)
        put_one(e, "locus_too_old_keys_total", "counter",
                "Keys pulled whose replicas here were too old for staleness_s: owners were asked.",
                s->pulled_too_old);
}

static void put_intents(struct exposition *e, const struct locus_stats *s)
{
    const char *advice = "locus_advice_total";
    put_one(e, "locus_rounds_total", "counter", "Synchronizations of shards with their peers.",
            s->rounds);
    put_one(e, "locus_late_keys_total", "counter",
            "Keys accessed at another node although an intent for them was active already.",
            s->intents_late);
    exposition_head(e, advice, "counter",
                    "How often a worker was found to need advice: docs/metrics.md says which.");
    exposition_labeled(e, advice, "what", "intend", (double)s->advice_intend);
    exposition_labeled(e, advice, "what", "earlier", (double)s->advice_earlier);
    exposition_labeled(e, advice, "what", "advance", (double)s->advice_advance);
    put_one(e, "locus_kept_keys", "gauge", "Keys that this node intends for ever.", s->kept_now);
}

/* Of bounded staleness, once somebody has asked for it. */
static void put_bounds(struct exposition *e, const locus *n, const struct locus_stats *s)
{
    struct locus_histogram behind = {0};
    const char *waited = "locus_bound_waited_seconds_total", *name = "locus_bound_behind_clocks";
    uint64_t calls = 0;
    for (unsigned w = 0; w < n->workers; w++) histogram_sum(&behind, &n->worker[w].bounds.behind);
    for (unsigned i = 0; i < LOCUS_HISTOGRAM_BUCKETS; i++) calls += behind.count[i];
    if (calls == 0 && s->bounds_waited == 0) return;
    put_one(e, "locus_bound_waits_total", "counter", "Calls of locus_bound that had to wait.",
            s->bounds_waited);
    exposition_head(e, waited, "counter", "How long calls of locus_bound waited.");
    exposition_real(e, waited, s->bounds_waited_s);
    if (calls == 0) return;
    exposition_head(e, name, "histogram",
                    "Clocks that the copies here were behind a worker that came from locus_bound.");
    exposition_numbers(e, name, &behind);
}

/* What cannot change with this technique, or on a cluster of one, is left out. */
static void put_management(struct exposition *e, const locus *n, const struct locus_stats *s)
{
    put_one(e, "locus_owned_rows", "gauge", "Rows whose main copy is here.", s->owned_now);
    put_one(e, "locus_intended_keys_total", "counter", "Keys for which intent was signaled.",
            s->intents_signaled);
    if (n->moves && !n->plan.technique->every_node_holds) put_rows(e, s);
    if (n->moves) put_replicas(e, n, s);
    if (n->heeds_intents) put_intents(e, s);
    put_bounds(e, n, s);
}

static void put_histograms(struct exposition *e, const locus *n)
{
    static const struct {
        enum locus_histogram_kind kind;
        const char *name, *help;
    } all[] = {
        {LOCUS_RELOCATION_TIME, "locus_relocation_seconds",
         "From asking for a call's rows of one shard until all had arrived."},
        {LOCUS_PARKED_TIME, "locus_parked_seconds",
         "How long requests waited here for the row that they are for."},
        {LOCUS_BLOCKED_TIME, "locus_blocked_seconds", "How long calls waited for other nodes."},
        {LOCUS_HOPS, "locus_request_hops",
         "How often requests that were served here had been forwarded."},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct locus_histogram h;
        bool is_of_moves = all[i].kind != LOCUS_BLOCKED_TIME;
        if ((is_of_moves && !n->moves) || locus_histogram_read(n, all[i].kind, &h)) continue;
        exposition_head(e, all[i].name, "histogram", all[i].help);
        if (all[i].kind == LOCUS_HOPS)
            exposition_numbers(e, all[i].name, &h);
        else
            exposition_times(e, all[i].name, &h, EXPOSITION_MICROSECOND, 1e-9 * (double)h.sum);
    }
}

/* The mean is exact; the sum of a histogram of such numbers may not be. */
static void put_staleness(struct exposition *e, const locus *n, const struct locus_stats *s)
{
    struct locus_histogram h;
    const char *name = "locus_staleness_seconds";
    uint64_t count = 0;
    if (!n->moves || locus_histogram_read(n, LOCUS_STALENESS, &h)) return;
    for (unsigned i = 0; i < LOCUS_HISTOGRAM_BUCKETS; i++) count += h.count[i];
    exposition_head(e, name, "histogram",
                    "Age of replicas since the owner's last frame: each counts every millisecond.");
    exposition_times(e, name, &h, EXPOSITION_MICROSECOND,
                     s->replica_staleness_mean_s * (double)count);
}

static void put_calls(struct exposition *e, const locus *n)
{
    static const struct {
        const char *name, *help;
        size_t field;
    } all[] = {
        {"locus_pull_seconds", "How long calls of locus_pull took: of a sample of them.",
         offsetof(struct observer, pull)},
        {"locus_push_seconds",
         "How long calls of locus_push and locus_set took: of a sample of them.",
         offsetof(struct observer, push)},
        {"locus_pull_async_seconds",
         "From calls of locus_pull_async until all values were here: of a sample of them.",
         offsetof(struct observer, pull_async)},
        {"locus_push_async_seconds",
         "The same of locus_push_async and locus_set_async: until all had their updates.",
         offsetof(struct observer, push_async)},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct locus_histogram h = {0};
        for (unsigned w = 0; w < n->workers; w++)
            histogram_sum(&h, (const void *)((const char *)n->worker[w].observer + all[i].field));
        exposition_head(e, all[i].name, "histogram", all[i].help);
        exposition_times(e, all[i].name, &h, EXPOSITION_32_NS, 1e-9 * (double)h.sum);
    }
}

static void put_rounds(struct exposition *e, const locus *n)
{
    struct locus_histogram all = {0};
    const char *name = "locus_round_seconds", *by_shard = "locus_shard_round_seconds";
    unsigned shards = cluster_shards(n->cluster);
    for (unsigned s = 0; s < shards; s++) cluster_shard_rounds(n->cluster, s, &all);
    exposition_head(e, name, "histogram",
                    "From the beginning of a round to a peer until that had served all of it.");
    exposition_times(e, name, &all, EXPOSITION_MICROSECOND, 1e-9 * (double)all.sum);
    exposition_head(e, by_shard, "summary", "The same of each shard.");
    for (unsigned s = 0; s < shards; s++) {
        struct locus_histogram h = {0};
        cluster_shard_rounds(n->cluster, s, &h);
        exposition_summary(e, by_shard, "shard", s, &h);
    }
}

/* ---- by peer, shard and worker ---- */

static void put_peers(struct exposition *e, const locus *n)
{
    static const struct {
        const char *name, *help;
        size_t field;
    } all[] = {
        {"locus_sent_bytes_total", "Bytes sent to the peer.",
         offsetof(struct link_stats, bytes_sent)},
        {"locus_received_bytes_total", "Bytes received from the peer.",
         offsetof(struct link_stats, bytes_received)},
        {"locus_sent_frames_total", "Frames sent to the peer, heartbeats included.",
         offsetof(struct link_stats, frames_sent)},
        {"locus_received_frames_total", "Frames received from the peer, heartbeats included.",
         offsetof(struct link_stats, frames_received)},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        exposition_head(e, all[i].name, "counter", all[i].help);
        for (unsigned peer = 0; peer < (unsigned)n->size; peer++) {
            if (peer == (unsigned)n->rank) continue;
            struct link_stats l = cluster_peer_stats(n->cluster, peer);
            uint64_t value;
            memcpy(&value, (const char *)&l + all[i].field, sizeof value);
            exposition_numbered(e, all[i].name, "peer", peer, (double)value);
        }
    }
}

/* What is on its way to them now. */
static void put_loads(struct exposition *e, const locus *n)
{
    static const struct {
        const char *name, *help;
    } all[] = {
        {"locus_peer_queued_bytes",
         "Bytes for the peer that it has not acknowledged, here and in the kernel."},
        {"locus_peer_asked_bytes",
         "Bytes of requests and their answers that are under way: of the credit, what is used."},
        {"locus_peer_credit_bytes", "Bytes of requests and answers that may be under way."},
        {"locus_peer_round_trip_seconds",
         "Round trip to the peer, as TCP sees it; the longest of all shards' links."},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        exposition_head(e, all[i].name, "gauge", all[i].help);
        for (unsigned peer = 0; peer < (unsigned)n->size; peer++) {
            if (peer == (unsigned)n->rank) continue;
            const struct reactor_peer_load l = cluster_peer_load(n->cluster, peer);
            const double value[] = {(double)l.link.queued_bytes, (double)l.asked_bytes,
                                    (double)cluster_shards(n->cluster) * LINK_CREDIT_BYTES,
                                    l.link.round_trip_s};
            exposition_numbered(e, all[i].name, "peer", peer, value[i]);
        }
    }
}

static void put_shards(struct exposition *e, const locus *n)
{
    unsigned shards = cluster_shards(n->cluster);
    const char *name = "locus_shard_cpu_seconds_total";
    exposition_head(e, name, "counter", "Processor time of the shard's thread.");
    for (unsigned s = 0; s < shards; s++)
        exposition_numbered(e, name, "shard", s, cluster_shard_cpu_s(n->cluster, s));
    name = "locus_shard_sleeps_total";
    exposition_head(e, name, "counter",
                    "How often the shard's thread found nothing to do and slept until woken.");
    for (unsigned s = 0; s < shards; s++)
        exposition_numbered(e, name, "shard", s, (double)cluster_shard_sleeps(n->cluster, s));
}

static void put_memory(struct exposition *e, const locus *n)
{
    const char *name = "locus_memory_bytes";
    uint64_t rows = 0, replicas = 0, requests = 0;
    store_row_bytes(&n->store, &rows, &replicas);
    for (unsigned w = 0; w < n->workers; w++)
        requests += operations_bytes(&n->worker[w].operations);
    exposition_head(e, name, "gauge",
                    "Memory in use: rows, those with replicas, what shards remember of keys, "
                    "buffers for sending, and workers' requests.");
    exposition_labeled(e, name, "kind", "rows", (double)rows);
    if (!n->cluster) return;
    const struct reactor_memory m = cluster_memory(n->cluster);
    if (n->moves) exposition_labeled(e, name, "kind", "replicas", (double)replicas);
    if (n->moves) exposition_labeled(e, name, "kind", "records", (double)m.records);
    exposition_labeled(e, name, "kind", "buffers", (double)m.buffers);
    exposition_labeled(e, name, "kind", "requests", (double)requests);
}

static void put_workers(struct exposition *e, const locus *n)
{
    const char *name = "locus_worker_clock";
    exposition_head(e, name, "gauge", "The worker's clock.");
    for (unsigned w = 0; w < n->workers; w++)
        exposition_numbered(e, name, "worker", w, (double)locus_current_clock(&n->worker[w]));
}

/* ---- the process ---- */

static void put_process(struct exposition *e, const locus *n)
{
    exposition_head(e, "process_cpu_seconds_total", "counter", "Processor time of the process.");
    exposition_real(e, "process_cpu_seconds_total", footprint_cpu_s());
    exposition_head(e, "process_resident_memory_bytes", "gauge", "Memory that the process holds.");
    exposition_real(e, "process_resident_memory_bytes", footprint_resident_bytes());
    exposition_head(e, "locus_nodes", "gauge",
                    "Nodes of the cluster; the label is this one's rank.");
    exposition_numbered(e, "locus_nodes", "rank", (unsigned)n->rank, n->size);
}

/* ---- serving ---- */

/* For so long after somebody has asked for keys they are noted; and so many are shown. */
#define LOOK_NS UINT64_C(5000000000)
enum { KEYS_SHOWN = 32 };

struct metrics {
    struct httpd *server;
    struct observers *observers;
    /* The server's thread: looks at keys. */
    uint64_t looked_ns; /* the last one; 0: never */
    uint64_t *seen;     /* [workers] */
    struct hottest hottest;
};

static void give_text(const struct exposition *e, struct httpd_reply *out)
{
    if (e->failed) {
        free(e->text);
        return;
    }
    out->text = e->text;
    out->length = e->length;
}

static void write_metrics(void *node, const struct httpd_request *request, struct httpd_reply *out)
{
    const locus *n = node;
    struct exposition e = {0};
    struct locus_stats s;
    (void)request;
    locus_stats_read(n, &s);
    put_process(&e, n);
    put_accesses(&e, &s);
    put_calls(&e, n);
    put_management(&e, n, &s);
    put_workers(&e, n);
    put_memory(&e, n);
    if (n->cluster) {
        put_histograms(&e, n);
        put_staleness(&e, n, &s);
        if (n->heeds_intents) put_rounds(&e, n);
        put_peers(&e, n);
        put_loads(&e, n);
        put_shards(&e, n);
    }
    give_text(&e, out);
}

/* ---- the hottest keys ---- */

static void take_keys(const locus *n, struct metrics *m)
{
    locus_key keys[OBSERVER_KEYS];
    for (unsigned w = 0; w < n->workers; w++) {
        size_t count = observer_take(n->worker[w].observer, &m->seen[w], keys);
        for (size_t i = 0; i < count; i++) hottest_add(&m->hottest, keys[i]);
    }
}

/* Where a key's row is, as far as this node can see. */
static const char *place_of(const locus *n, locus_key key)
{
    struct row_ref ref = store_row_ref(&n->store, key);
    directory_word word = directory_load(row_ref_word(ref));
    if (row_ref_is_here(ref, word)) return "local";
    return row_ref_is_held(ref, word) ? "replica" : "remote";
}

/* After a long pause it begins anew: what was noted before is out of date. */
static void write_keys(void *node, const struct httpd_request *request, struct httpd_reply *out)
{
    const locus *n = node;
    struct metrics *m = n->metrics;
    struct exposition e = {0};
    struct hottest_key key[KEYS_SHOWN];
    uint64_t now_ns = clock_now_ns();
    (void)request;
    take_keys(n, m);
    if (m->looked_ns == 0 || now_ns - m->looked_ns > LOOK_NS) hottest_clear(&m->hottest);
    m->looked_ns = now_ns;
    observers_want_keys(m->observers, now_ns + LOOK_NS);
    size_t count = hottest_list(&m->hottest, key, KEYS_SHOWN);
    put_one(&e, "locus_sampled_keys", "gauge", "Keys of calls that were looked at.",
            m->hottest.all);
    exposition_head(&e, "locus_hot_keys", "gauge",
                    "How often at least a key was among them: the most frequent ones.");
    for (size_t i = 0; i < count; i++)
        exposition_key(&e, "locus_hot_keys", key[i].key, place_of(n, key[i].key),
                       key[i].count - key[i].error);
    give_text(&e, out);
}

/* ---- life ---- */

int metrics_listen(unsigned rank, int *fd)
{
    const char *address = getenv("LOCUS_METRICS");
    *fd = -1;
    if (!address || !*address) return 0;
    return httpd_listen("LOCUS_METRICS", address, rank, fd);
}

/* Before the first answer, *out stands. */
int metrics_start(locus *n, int fd, struct metrics **out)
{
    static const char type[] = "text/plain; version=0.0.4; charset=utf-8";
    static const struct httpd_path paths[] = {{"/metrics", type, write_metrics},
                                              {"/keys", type, write_keys},
                                              {"/key", "text/plain; charset=utf-8", explain_key},
                                              {0}};
    *out = NULL;
    if (fd < 0) return 0;
    struct metrics *m = calloc(1, sizeof *m);
    uint64_t *seen = calloc(n->workers, sizeof *seen);
    if (!m || !seen) {
        free(m);
        free(seen);
        forked_end(fd);
        return error_set(-ENOMEM, "no memory for metrics");
    }
    m->seen = seen;
    *out = m;
    int rc = observers_start(n, &m->observers);
    if (rc)
        forked_end(fd);
    else
        rc = httpd_open(fd, paths, n, &m->server);
    if (rc == 0) return 0;
    metrics_stop(m);
    *out = NULL;
    return rc;
}

void metrics_stop(struct metrics *m)
{
    if (!m) return;
    httpd_close(m->server);
    observers_stop(m->observers);
    free(m->seen);
    free(m);
}
