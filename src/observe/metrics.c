#include "observe/metrics.h"

#include "base/figures.h"
#include "base/process.h"
#include "observe/exposition.h"
#include "worker/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the node counts ---- */

static void sum_behind(const locus *n, struct locus_histogram *to)
{
    for (unsigned w = 0; w < n->workers; w++) histogram_sum(to, &n->worker[w].behind);
}

static bool is_shown(enum figure_shown shown, const locus *n, const struct figures *f)
{
    struct locus_histogram behind = {0};
    switch (shown) {
    case FIGURE_NEVER: return false;
    case FIGURE_ALWAYS: return true;
    case FIGURE_OTHERS: return n->cluster != NULL;
    case FIGURE_MOVES: return n->moves;
    case FIGURE_FOLLOWS: return n->moves && !n->plan.technique->every_node_holds;
    case FIGURE_INTENTS: return n->heeds_intents;
    case FIGURE_CLOCKS:
        sum_behind(n, &behind);
        return f->stats.bounds_waited > 0 || histogram_count(&behind) > 0;
    }
    return false;
}

static const char *kind_of(const char *name)
{
    size_t length = strlen(name), end = sizeof "_total" - 1;
    return length > end && strcmp(name + length - end, "_total") == 0 ? "counter" : "gauge";
}

static void put_figures(struct exposition *e, const locus *n, const struct figures *f)
{
    const char *name = "";
    for (size_t i = 0; i < figure_rows; i++) {
        const struct figure *row = &figure_table[i];
        if (!is_shown(row->shown, n, f)) continue;
        if (strcmp(name, row->metric) != 0)
            exposition_head(e, row->metric, kind_of(row->metric), row->help);
        name = row->metric;
        exposition_sample(e, name, row->label, figure_value(row, f));
    }
}

static void put_behind(struct exposition *e, const locus *n)
{
    struct locus_histogram behind = {0};
    const char *name = "locus_bound_behind_clocks";
    sum_behind(n, &behind);
    if (histogram_count(&behind) == 0) return;
    exposition_head(e, name, "histogram",
                    "Clocks that the copies here were behind a worker that came from locus_bound.");
    exposition_numbers(e, name, &behind);
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
            exposition_times(e, all[i].name, &h, 1e-9 * (double)h.sum);
    }
}

/* The mean is exact; the sum of a histogram of such numbers may not be. */
static void put_staleness(struct exposition *e, const locus *n, const struct locus_stats *s)
{
    struct locus_histogram h;
    const char *name = "locus_staleness_seconds";
    if (!n->moves || locus_histogram_read(n, LOCUS_STALENESS, &h)) return;
    exposition_head(e, name, "histogram",
                    "Age of replicas since the owner's last frame: each counts every millisecond.");
    exposition_times(e, name, &h, s->replica_staleness_mean_s * (double)histogram_count(&h));
}

/* Those of shards alone. */
static void put_times(struct exposition *e, const locus *n)
{
    static const struct {
        const char *name, *help;
        size_t field;
    } all[] = {
        {"locus_pull_seconds", "How long a shard took to answer pulls of rows that were not here.",
         offsetof(struct shard_histograms, pull)},
        {"locus_push_seconds", "The same of pushes and sets.",
         offsetof(struct shard_histograms, push)},
        {"locus_round_seconds",
         "From the beginning of a round to a peer until that had served all of it.",
         offsetof(struct shard_histograms, round)},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct locus_histogram h = {0};
        if (all[i].field == offsetof(struct shard_histograms, round) && !n->heeds_intents) continue;
        for (unsigned s = 0; s < cluster_shards(n->cluster); s++)
            histogram_sum(
                &h, (const void *)((const char *)&node_shard(n, s)->histograms + all[i].field));
        exposition_head(e, all[i].name, "histogram", all[i].help);
        exposition_times(e, all[i].name, &h, 1e-9 * (double)h.sum);
    }
}

static void put_rounds(struct exposition *e, const locus *n)
{
    const char *name = "locus_shard_round_seconds";
    exposition_head(e, name, "summary", "How long rounds took, of each shard.");
    for (unsigned s = 0; s < cluster_shards(n->cluster); s++) {
        struct locus_histogram h = {0};
        histogram_sum(&h, &node_shard(n, s)->histograms.round);
        exposition_summary(e, name, "shard", s, &h);
    }
}

/* ---- by peer, shard and worker ---- */

static void put_peers(struct exposition *e, const locus *n)
{
#define ROW(to, field, report, shown, metric, label, help) \
    {metric, help, offsetof(struct link_stats, field)},
    static const struct {
        const char *name, *help;
        size_t field;
    } all[] = {LINK_FIGURES(ROW)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        exposition_head(e, all[i].name, "counter", all[i].help);
        for (unsigned peer = 0; peer < (unsigned)n->size; peer++) {
            if (peer == (unsigned)n->rank) continue;
            struct link_stats l = {0};
            uint64_t value;
            figures_add_peer(n->cluster, peer, &l);
            memcpy(&value, (const char *)&l + all[i].field, sizeof value);
            exposition_numbered(e, all[i].name, "peer", peer, (double)value);
        }
    }
}

/* Sums over the shards, but the longest round trip. */
static struct link_load load_of(const locus *n, unsigned peer, size_t *asked_bytes)
{
    struct link_load sum = {0};
    *asked_bytes = 0;
    for (unsigned s = 0; s < cluster_shards(n->cluster); s++) {
        const struct link_load l = reactor_load(cluster_reactors(n->cluster)[s], peer);
        *asked_bytes += shard_asked_bytes(node_shard(n, s), peer);
        sum.queued_bytes += l.queued_bytes;
        if (l.round_trip_s > sum.round_trip_s) sum.round_trip_s = l.round_trip_s;
        sum.is_shared = sum.is_shared || l.is_shared;
    }
    return sum;
}

/* What is on its way to them now. */
static void put_loads(struct exposition *e, const locus *n)
{
    static const struct {
        const char *name, *help;
    } all[] = {
        {"locus_peer_queued_bytes",
         "Bytes for that node that it has not acknowledged, here and in the kernel."},
        {"locus_peer_asked_bytes",
         "Bytes of requests and their answers that are under way: of the credit, what is used."},
        {"locus_peer_credit_bytes", "Bytes of requests and answers that may be under way."},
        {"locus_peer_round_trip_seconds",
         "Round trip to that node, as TCP sees it; the longest of all shards' links."},
        {"locus_peer_shares_memory",
         "1 if links to that node go through memory of this host, 0 if through TCP."},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        exposition_head(e, all[i].name, "gauge", all[i].help);
        for (unsigned peer = 0; peer < (unsigned)n->size; peer++) {
            if (peer == (unsigned)n->rank) continue;
            size_t asked_bytes;
            const struct link_load l = load_of(n, peer, &asked_bytes);
            const double value[] = {(double)l.queued_bytes, (double)asked_bytes,
                                    (double)cluster_shards(n->cluster) * LINK_CREDIT_BYTES,
                                    l.round_trip_s, l.is_shared};
            exposition_numbered(e, all[i].name, "peer", peer, value[i]);
        }
    }
}

static struct reactor_figures thread_of(const locus *n, unsigned shard)
{
    return reactor_figures(cluster_reactors(n->cluster)[shard]);
}

static void put_shards(struct exposition *e, const locus *n)
{
    unsigned shards = cluster_shards(n->cluster);
    const char *name = "locus_shard_cpu_seconds_total";
    exposition_head(e, name, "counter", "Processor time of the shard's thread.");
    for (unsigned s = 0; s < shards; s++)
        exposition_numbered(e, name, "shard", s, thread_of(n, s).cpu_s);
    name = "locus_shard_sleeps_total";
    exposition_head(e, name, "counter",
                    "How often the shard's thread found nothing to do and slept until woken.");
    for (unsigned s = 0; s < shards; s++)
        exposition_numbered(e, name, "shard", s, (double)thread_of(n, s).sleeps);
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
    exposition_sample(e, name, "kind=\"rows\"", (double)rows);
    if (!n->cluster) return;
    uint64_t records = 0, buffers = 0;
    for (unsigned s = 0; s < cluster_shards(n->cluster); s++) {
        records += records_bytes(&node_shard(n, s)->records);
        buffers += thread_of(n, s).buffer_bytes;
    }
    if (n->moves) exposition_sample(e, name, "kind=\"replicas\"", (double)replicas);
    if (n->moves) exposition_sample(e, name, "kind=\"records\"", (double)records);
    exposition_sample(e, name, "kind=\"buffers\"", (double)buffers);
    exposition_sample(e, name, "kind=\"requests\"", (double)requests);
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
    exposition_sample(e, "process_cpu_seconds_total", NULL, footprint_cpu_s());
    exposition_head(e, "process_resident_memory_bytes", "gauge", "Memory that the process holds.");
    exposition_sample(e, "process_resident_memory_bytes", NULL, footprint_resident_bytes());
    exposition_head(e, "locus_nodes", "gauge",
                    "Nodes of the cluster; the label is this one's rank.");
    exposition_numbered(e, "locus_nodes", "rank", (unsigned)n->rank, n->size);
}

/* ---- serving ---- */

enum { KEYS_SHOWN = 32, EVENTS_AT_ONCE = 256 };

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
    struct figures f;
    (void)request;
    figures_read(n, &f);
    put_process(&e, n);
    put_figures(&e, n, &f);
    put_behind(&e, n);
    put_workers(&e, n);
    put_memory(&e, n);
    if (n->cluster) {
        put_times(&e, n);
        put_histograms(&e, n);
        put_staleness(&e, n, &f.stats);
        if (n->heeds_intents) put_rounds(&e, n);
        put_peers(&e, n);
        put_loads(&e, n);
        put_shards(&e, n);
    }
    give_text(&e, out);
}

/* ---- the hottest keys ---- */

/* Where a key's row is, as far as this node can see. */
static const char *place_of(const locus *n, locus_key key)
{
    struct row_ref ref = store_row_ref(&n->store, key);
    directory_word word = directory_load(row_ref_word(ref));
    if (row_ref_is_here(ref, word)) return "local";
    return row_ref_is_held(ref, word) ? "replica" : "remote";
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool is_hotness(const struct key_event *e)
{
    return e->kind == EVENT_INTENDED || e->kind == EVENT_PULLED || e->kind == EVENT_PUSHED;
}

/* In order. Returns how many. */
static size_t take_keys(const struct shard *s, uint64_t *index)
{
    struct key_event e[EVENTS_AT_ONCE];
    struct events_reader reader = {.of = s->events};
    size_t all = 0;
    for (size_t n;
         all + EVENTS_AT_ONCE <= EVENTS_KEPT && (n = events_read(&reader, e, EVENTS_AT_ONCE)) > 0;)
        for (size_t i = 0; i < n; i++)
            if (is_hotness(&e[i])) index[all++] = e[i].index;
    qsort(index, all, sizeof *index, by_number);
    return all;
}

struct hot {
    locus_key key;
    uint64_t count;
};

/* Into its place among the most frequent ones. */
static void insert(struct hot hot[KEYS_SHOWN], struct hot one)
{
    for (size_t i = 0; i < KEYS_SHOWN; i++) {
        if (hot[i].count >= one.count) continue;
        struct hot other = hot[i];
        hot[i] = one;
        one = other;
    }
}

/* Once is not often. */
static size_t count_keys(const struct shard *s, uint64_t *index, struct hot hot[KEYS_SHOWN])
{
    size_t all = take_keys(s, index);
    for (size_t i = 0, next; i < all; i = next) {
        for (next = i + 1; next < all && index[next] == index[i];) next++;
        if (next - i > 1)
            insert(hot,
                   (struct hot){keyspace_key(&s->store->keyspace, s->number, index[i]), next - i});
    }
    return all;
}

static void write_keys(void *node, const struct httpd_request *request, struct httpd_reply *out)
{
    const locus *n = node;
    struct exposition e = {0};
    struct hot hot[KEYS_SHOWN] = {0};
    size_t all = 0;
    uint64_t *index = malloc(EVENTS_KEPT * sizeof *index);
    (void)request;
    if (!index) return;
    for (unsigned s = 0; n->cluster && s < cluster_shards(n->cluster); s++)
        all += count_keys(node_shard(n, s), index, hot);
    free(index);
    exposition_head(&e, "locus_sampled_keys", "gauge",
                    "The last keys of intents, and of requests to other nodes.");
    exposition_sample(&e, "locus_sampled_keys", NULL, (double)all);
    exposition_head(&e, "locus_hot_keys", "gauge",
                    "How often a key is among them: the most frequent ones.");
    for (size_t i = 0; i < KEYS_SHOWN && hot[i].count > 0; i++)
        exposition_key(&e, "locus_hot_keys", hot[i].key, place_of(n, hot[i].key), hot[i].count);
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

int metrics_start(locus *n, int fd, struct httpd **out)
{
    static const char type[] = "text/plain; version=0.0.4; charset=utf-8";
    static const struct httpd_path paths[] = {{"/metrics", type, write_metrics},
                                              {"/keys", type, write_keys},
                                              {"/key", "text/plain; charset=utf-8", explain_key},
                                              {0}};
    *out = NULL;
    return fd < 0 ? 0 : httpd_open(fd, paths, n, out);
}
