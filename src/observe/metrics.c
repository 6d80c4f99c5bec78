#include "observe/metrics.h"

#include "base/figures.h"
#include "base/process.h"
#include "worker/node.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the format ---- */

void exposition_head(struct httpd_reply *r, const char *name, const char *kind, const char *help)
{
    httpd_put(r, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

void exposition_sample(struct httpd_reply *r, const char *name, const char *label, double value)
{
    if (label)
        httpd_put(r, "%s{%s} %.15g\n", name, label, value);
    else
        httpd_put(r, "%s %.15g\n", name, value);
}

static void close_histogram(struct httpd_reply *r, const char *name, uint64_t count, double sum)
{
    httpd_put(r, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum %.15g\n%s_count %" PRIu64 "\n", name,
              count, name, sum, name, count);
}

/* The last bucket has no upper end. */
void exposition_times(struct httpd_reply *r, const char *name, const char *help,
                      const struct locus_histogram *h, double sum_s)
{
    enum { MICROSECOND = 9 }; /* the bucket below it */
    uint64_t count = 0;
    exposition_head(r, name, "histogram", help);
    for (unsigned i = 0; i + 1 < LOCUS_HISTOGRAM_BUCKETS; i++) {
        count += h->count[i];
        if (i >= MICROSECOND)
            httpd_put(r, "%s_bucket{le=\"%.9g\"} %" PRIu64 "\n", name,
                      1e-9 * (double)(UINT64_C(2) << i), count);
    }
    close_histogram(r, name, count + h->count[LOCUS_HISTOGRAM_BUCKETS - 1], sum_s);
}

void exposition_numbers(struct httpd_reply *r, const char *name, const char *help,
                        const struct locus_histogram *h)
{
    enum { SHOWN = 8 };
    uint64_t count = 0;
    exposition_head(r, name, "histogram", help);
    for (unsigned i = 0; i < LOCUS_HISTOGRAM_BUCKETS; i++) {
        count += h->count[i];
        if (i < SHOWN) httpd_put(r, "%s_bucket{le=\"%u\"} %" PRIu64 "\n", name, i, count);
    }
    close_histogram(r, name, count, (double)h->sum);
}

/* ---- what the node counts ---- */

static bool is_shown(enum figure_shown shown, const locus *n, const struct figures *f)
{
    switch (shown) {
    case FIGURE_NEVER: return false;
    case FIGURE_ALWAYS: return true;
    case FIGURE_OTHERS: return n->cluster != NULL;
    case FIGURE_MOVES: return n->moves;
    case FIGURE_FOLLOWS: return n->moves && !n->plan.technique->every_node_holds;
    case FIGURE_INTENTS: return n->heeds_intents;
    case FIGURE_SAVES: return n->plan.config.survives;
    case FIGURE_CLOCKS: return f->stats.bounds_waited > 0 || histogram_count(&f->behind) > 0;
    }
    return false;
}

static const char *kind_of(const char *name)
{
    size_t length = strlen(name), end = sizeof "_total" - 1;
    return length > end && strcmp(name + length - end, "_total") == 0 ? "counter" : "gauge";
}

static void put_figures(struct httpd_reply *r, const locus *n, const struct figures *f)
{
    const char *name = "";
    for (size_t i = 0; i < figure_rows; i++) {
        const struct figure *row = &figure_table[i];
        if (!is_shown(row->shown, n, f)) continue;
        if (strcmp(name, row->metric) != 0)
            exposition_head(r, row->metric, kind_of(row->metric), row->help);
        name = row->metric;
        exposition_sample(r, name, row->label, figure_value(row, f));
    }
}

/* The mean of staleness is exact; the sum of a histogram of such numbers may not be. */
static void put_histograms(struct httpd_reply *r, const locus *n, const struct figures *f)
{
#define OF_SHARDS(field) offsetof(struct shard_histograms, field)
    static const struct {
        enum figure_shown shown;
        size_t field;
        const char *name, *help;
    } all[] = {
        {FIGURE_OTHERS, OF_SHARDS(pull), "locus_pull_seconds",
         "How long a shard took to answer pulls of rows that were not here."},
        {FIGURE_OTHERS, OF_SHARDS(push), "locus_push_seconds", "The same of pushes and sets."},
        {FIGURE_INTENTS, OF_SHARDS(round), "locus_round_seconds",
         "From the beginning of a round to a peer until that had served all of it."},
        {FIGURE_MOVES, OF_SHARDS(relocation), "locus_relocation_seconds",
         "From asking for a call's rows of one shard until all had arrived."},
        {FIGURE_MOVES, OF_SHARDS(parked), "locus_parked_seconds",
         "How long requests waited here for the row that they are for."},
    };
    struct locus_histogram h;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!is_shown(all[i].shown, n, f)) continue;
        h = (struct locus_histogram){0};
        for (unsigned s = 0; s < cluster_shards(n->cluster); s++) {
            const char *at = (const char *)&node_shard(n, s)->histograms + all[i].field;
            histogram_sum(&h, (const void *)at);
        }
        exposition_times(r, all[i].name, all[i].help, &h, 1e-9 * (double)h.sum);
    }
    locus_histogram_read(n, LOCUS_BLOCKED_TIME, &h);
    exposition_times(r, "locus_blocked_seconds", "How long calls waited for other nodes.", &h,
                     1e-9 * (double)h.sum);
    if (!n->moves) return;
    locus_histogram_read(n, LOCUS_HOPS, &h);
    exposition_numbers(r, "locus_request_hops",
                       "How often requests that were served here had been forwarded.", &h);
    locus_histogram_read(n, LOCUS_STALENESS, &h);
    exposition_times(r, "locus_staleness_seconds",
                     "Age of replicas since the owner's last frame: each counts every millisecond.",
                     &h, f->stats.replica_staleness_mean_s * (double)histogram_count(&h));
}

static void put_members(struct httpd_reply *r, const locus *n)
{
    static const char changes[] = "locus_member_changes_total", repair[] = "locus_repair_seconds",
                      age[] = "locus_save_age_seconds";
    struct locus_losses l;
    cluster_losses(n->cluster, &l);
    if (!l.survives) return;
    exposition_head(r, "locus_members", "gauge", "Nodes that are in the cluster now.");
    exposition_sample(r, "locus_members", NULL, l.members);
    exposition_head(r, changes, "counter", "How often a node was lost, has left, has joined.");
    exposition_sample(r, changes, "change=\"lost\"", l.lost);
    exposition_sample(r, changes, "change=\"left\"", l.left);
    exposition_sample(r, changes, "change=\"joined\"", l.joined);
    exposition_head(r, repair, "gauge", "How long the repair behind the last change took.");
    exposition_sample(r, repair, NULL, l.last_s);
    exposition_head(r, age, "gauge", "How old saves of rows here become until they are replaced.");
    exposition_sample(r, age, NULL, l.save_age_s);
}

/* ---- by peer, shard and worker ---- */

struct metric {
    const char *name, *help;
};

/* Of each of them a sample of each of `count` peers, shards or workers: value_of(n, i, m) is the
 * m-th metric of number i. The node is no peer of its own. */
static void put_each(struct httpd_reply *r, const locus *n, const struct metric *all,
                     size_t metrics, const char *label, unsigned count,
                     double value_of(const locus *, unsigned, size_t))
{
    bool of_peers = strcmp(label, "peer") == 0;
    for (size_t m = 0; m < metrics; m++) {
        exposition_head(r, all[m].name, kind_of(all[m].name), all[m].help);
        for (unsigned i = 0; i < count; i++)
            if (!of_peers || i != (unsigned)n->rank)
                httpd_put(r, "%s{%s=\"%u\"} %.15g\n", all[m].name, label, i, value_of(n, i, m));
    }
}
static double of_peer(const locus *n, unsigned peer, size_t metric)
{
    struct link_stats counted = {0};
    double queued = 0, asked = 0, round_trip_s = 0, has_memory = 0;
    for (unsigned s = 0; s < cluster_shards(n->cluster); s++) {
        const struct link_load l = reactor_load(node_reactor(n, s), peer);
        reactor_add_link(node_reactor(n, s), peer, &counted);
        asked += (double)shard_asked_bytes(node_shard(n, s), peer);
        queued += (double)l.queued_bytes;
        if (l.round_trip_s > round_trip_s) round_trip_s = l.round_trip_s;
        if (l.is_shm) has_memory = 1;
    }
    double credit = (double)cluster_shards(n->cluster) * LINK_CREDIT_BYTES;
#define COUNTED(to, field, ...) (double)counted.field,
    return (
        (double[]){LINK_FIGURES(COUNTED) queued, asked, credit, round_trip_s, has_memory})[metric];
}

static void put_peers(struct httpd_reply *r, const locus *n)
{
#define METRIC(to, field, report, shown, metric, label, help) {metric, help},
    static const struct metric all[] = {
        LINK_FIGURES(METRIC){
            "locus_peer_queued_bytes",
            "Bytes for that node that it has not acknowledged, here and in the kernel."},
        {"locus_peer_asked_bytes",
         "Bytes of requests and their answers that are under way: of the credit, what is used."},
        {"locus_peer_credit_bytes", "Bytes of requests and answers that may be under way."},
        {"locus_peer_round_trip_seconds",
         "Round trip to that node, as TCP sees it; the longest of all shards' links."},
        {"locus_peer_shares_memory",
         "1 if links to that node go through memory of this host, 0 if through TCP."},
    };
    put_each(r, n, all, sizeof all / sizeof *all, "peer", (unsigned)n->size, of_peer);
}

static double of_shard(const locus *n, unsigned shard, size_t metric)
{
    const struct reactor_figures f = reactor_figures(node_reactor(n, shard));
    return metric == 0 ? f.cpu_s : (double)f.sleeps;
}

static void put_shards(struct httpd_reply *r, const locus *n)
{
    static const struct metric all[] = {
        {"locus_shard_cpu_seconds_total", "Processor time of the shard's thread."},
        {"locus_shard_sleeps_total",
         "How often the shard's thread found nothing to do and slept until woken."},
    };
    static const char rounds[] = "locus_shard_round_seconds";
    unsigned shards = cluster_shards(n->cluster);
    put_each(r, n, all, sizeof all / sizeof *all, "shard", shards, of_shard);
    if (!n->heeds_intents) return;
    exposition_head(r, rounds, "summary", "How long rounds took, of each shard.");
    for (unsigned s = 0; s < shards; s++) {
        const struct locus_histogram *h = &node_shard(n, s)->histograms.round;
        httpd_put(r, "%s_sum{shard=\"%u\"} %.15g\n%s_count{shard=\"%u\"} %" PRIu64 "\n", rounds, s,
                  1e-9 * (double)__atomic_load_n(&h->sum, __ATOMIC_RELAXED), rounds, s,
                  histogram_count(h));
    }
}

static double of_worker(const locus *n, unsigned worker, size_t metric)
{
    (void)metric;
    return (double)locus_current_clock(&n->worker[worker]);
}

static void put_workers(struct httpd_reply *r, const locus *n)
{
    static const struct metric clock = {"locus_worker_clock", "The worker's clock."};
    put_each(r, n, &clock, 1, "worker", n->workers, of_worker);
}

/* ---- the process ---- */

static void put_memory(struct httpd_reply *r, const locus *n)
{
    const char *name = "locus_memory_bytes";
    uint64_t rows = 0, replicas = 0, requests = 0, records = 0, buffers = 0;
    store_row_bytes(&n->store, &rows, &replicas);
    for (unsigned w = 0; w < n->workers; w++)
        requests += operations_bytes(&n->worker[w].operations);
    exposition_head(r, name, "gauge",
                    "Memory in use: rows, those with replicas, what shards remember of keys, "
                    "buffers for sending, and workers' requests.");
    exposition_sample(r, name, "kind=\"rows\"", (double)rows);
    if (!n->cluster) return;
    for (unsigned s = 0; s < cluster_shards(n->cluster); s++) {
        records += records_bytes(&node_shard(n, s)->records);
        buffers += reactor_figures(node_reactor(n, s)).buffer_bytes;
    }
    if (n->moves) exposition_sample(r, name, "kind=\"replicas\"", (double)replicas);
    if (n->moves) exposition_sample(r, name, "kind=\"records\"", (double)records);
    exposition_sample(r, name, "kind=\"buffers\"", (double)buffers);
    exposition_sample(r, name, "kind=\"requests\"", (double)requests);
}

static void put_process(struct httpd_reply *r, const locus *n)
{
    exposition_head(r, "process_cpu_seconds_total", "counter", "Processor time of the process.");
    exposition_sample(r, "process_cpu_seconds_total", NULL, footprint_cpu_s());
    exposition_head(r, "process_resident_memory_bytes", "gauge", "Memory that the process holds.");
    exposition_sample(r, "process_resident_memory_bytes", NULL, footprint_resident_bytes());
    exposition_head(r, "locus_nodes", "gauge",
                    "Nodes of the cluster; the label is this one's rank.");
    httpd_put(r, "locus_nodes{rank=\"%d\"} %d\n", n->rank, n->size);
}

static void write_metrics(void *node, const struct httpd_request *request, struct httpd_reply *out)
{
    const locus *n = node;
    struct figures f;
    (void)request;
    figures_read(n, &f);
    put_process(out, n);
    put_figures(out, n, &f);
    if (histogram_count(&f.behind) > 0)
        exposition_numbers(
            out, "locus_bound_behind_clocks",
            "Clocks that the rows here were behind a worker that came from locus_bound.",
            &f.behind);
    put_workers(out, n);
    put_memory(out, n);
    if (!n->cluster) return;
    put_members(out, n);
    put_histograms(out, n, &f);
    put_peers(out, n);
    put_shards(out, n);
}

/* ---- the hottest keys ---- */

enum { KEYS_SHOWN = 32, EVENTS_AT_ONCE = 256 };

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

/* Of one shard; once is not often. Returns how many events there are. */
static size_t count_keys(const struct shard *s, uint64_t *index, struct hot hot[KEYS_SHOWN])
{
    struct key_event e[EVENTS_AT_ONCE];
    struct events_reader reader = {.of = s->events};
    size_t all = 0, n;
    while (all + EVENTS_AT_ONCE <= EVENTS_KEPT && (n = events_read(&reader, e, EVENTS_AT_ONCE)) > 0)
        for (size_t i = 0; i < n; i++)
            if (is_hotness(&e[i])) index[all++] = e[i].index;
    qsort(index, all, sizeof *index, by_number);
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
    struct hot hot[KEYS_SHOWN] = {0};
    size_t all = 0;
    uint64_t *index = malloc(EVENTS_KEPT * sizeof *index);
    (void)request;
    if (!index) return;
    for (unsigned s = 0; n->cluster && s < cluster_shards(n->cluster); s++)
        all += count_keys(node_shard(n, s), index, hot);
    free(index);
    exposition_head(out, "locus_sampled_keys", "gauge",
                    "The last keys of intents, and of requests to other nodes.");
    exposition_sample(out, "locus_sampled_keys", NULL, (double)all);
    exposition_head(out, "locus_hot_keys", "gauge",
                    "How often a key is among them: the most frequent ones.");
    for (size_t i = 0; i < KEYS_SHOWN && hot[i].count > 0; i++)
        httpd_put(out, "locus_hot_keys{key=\"%" PRIu64 "\",place=\"%s\"} %" PRIu64 "\n", hot[i].key,
                  place_of(n, hot[i].key), hot[i].count);
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
