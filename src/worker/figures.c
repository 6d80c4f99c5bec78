#include "worker/figures.h"

#include "base/figures.h"

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

void figures_add_peer(struct cluster *c, unsigned peer, struct link_stats *to)
{
    for (unsigned s = 0; s < cluster_shards(c); s++)
        reactor_add_link(cluster_reactors(c)[s], peer, to);
}

static void add_worker(const locus_worker *w, struct figures *f)
{
#define ADD(to, field, ...) \
    f->workers.field += __atomic_load_n(&w->counters.field, __ATOMIC_RELAXED);
    WORKER_FIGURES(ADD)
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
    for (unsigned peer = 0; peer < (unsigned)n->size; peer++)
        figures_add_peer(n->cluster, peer, &f->links);
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
