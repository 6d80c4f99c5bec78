#include "metrics.h"

#include "door.h"
#include "exposition.h"
#include "node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
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

static void put_replicas(struct exposition *e, const struct locus_stats *s)
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
}

/* What cannot change with this technique, or on a cluster of one, is left out. */
static void put_management(struct exposition *e, const locus *n, const struct locus_stats *s)
{
    put_one(e, "locus_owned_rows", "gauge", "Rows whose main copy is here.", s->owned_now);
    put_one(e, "locus_intended_keys_total", "counter", "Keys for which intent was signaled.",
            s->intents_signaled);
    if (n->moves && n->technique != LOCUS_FULL_REPLICATION) put_rows(e, s);
    if (n->moves) put_replicas(e, s);
    if (n->heeds_intents) put_intents(e, s);
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
            exposition_times(e, all[i].name, &h);
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

static void put_workers(struct exposition *e, const locus *n)
{
    const char *name = "locus_worker_clock";
    exposition_head(e, name, "gauge", "The worker's clock.");
    for (unsigned w = 0; w < n->workers; w++)
        exposition_numbered(e, name, "worker", w, (double)locus_current_clock(&n->worker[w]));
}

/* ---- the process ---- */

static double resident_bytes(void)
{
    unsigned long long all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%llu %llu", &all, &resident) != 2) resident = 0;
    if (f) fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static void put_process(struct exposition *e, const locus *n)
{
    struct timespec used = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    exposition_head(e, "process_cpu_seconds_total", "counter", "Processor time of the process.");
    exposition_real(e, "process_cpu_seconds_total",
                    (double)used.tv_sec + 1e-9 * (double)used.tv_nsec);
    exposition_head(e, "process_resident_memory_bytes", "gauge", "Memory that the process holds.");
    exposition_real(e, "process_resident_memory_bytes", resident_bytes());
    exposition_head(e, "locus_nodes", "gauge",
                    "Nodes of the cluster; the label is this one's rank.");
    exposition_numbered(e, "locus_nodes", "rank", (unsigned)n->rank, n->size);
}

/* ---- serving ---- */

static char *write_metrics(void *node, size_t *length)
{
    const locus *n = node;
    struct exposition e = {0};
    struct locus_stats s;
    locus_stats_read(n, &s);
    put_process(&e, n);
    put_accesses(&e, &s);
    put_management(&e, n, &s);
    put_workers(&e, n);
    if (n->cluster) {
        put_histograms(&e, n);
        put_peers(&e, n);
        put_shards(&e, n);
    }
    *length = e.length;
    if (!e.failed) return e.text;
    free(e.text);
    return NULL;
}

int metrics_listen(unsigned rank, int *fd)
{
    const char *address = getenv("LOCUS_METRICS");
    *fd = -1;
    if (!address || !*address) return 0;
    return door_listen("LOCUS_METRICS", address, rank, fd);
}

int metrics_start(locus *n, int fd, struct door **out)
{
    static const struct door_path paths[] = {
        {"/metrics", "text/plain; version=0.0.4; charset=utf-8", write_metrics}, {0}};
    *out = NULL;
    return fd < 0 ? 0 : door_open(fd, paths, n, out);
}

void metrics_stop(struct door *d)
{
    door_close(d);
}
