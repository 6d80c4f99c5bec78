#include "checkpoint.h"

#include "base/sync.h"
#include "sim/protocol/platform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 4, WORKERS_MAX = 2, STEPS_MAX = 20000000, SIGNALS = 160, NAPS = 16 };

/* A worker's loader, which goes on while the worker is in a checkpoint. */
struct guide {
    struct member *member;
    bool ends, has_ended;
    struct dice dice;
};

static struct {
    const struct tables *tables;
    cluster_work *work;
    unsigned nodes;
    locus *node[NODES_MAX];
    struct member member[NODES_MAX * WORKERS_MAX];
    struct guide guide[NODES_MAX * WORKERS_MAX];
} cluster;

static unsigned node_of(const struct member *m)
{
    return m->number * cluster.nodes / m->total;
}

bool cluster_is_lost(const struct member *m)
{
    return cluster.nodes > 1 && platform_is_lost(node_of(m));
}

static bool has_ended(const void *guide)
{
    return ((const struct guide *)guide)->has_ended;
}

static bool is_wanted(const void *guide)
{
    const struct guide *g = guide;
    return g->ends || g->member->is_in_call;
}

/* Rows are wanted here and there, now and soon. */
static void signal_intents(void *guide)
{
    struct guide *g = guide;
    struct member *m = g->member;
    for (unsigned i = 0; i < SIGNALS && !g->ends; i++) {
        locus_key key = dice_below(&g->dice, cluster.tables->keys);
        locus_clock start = locus_current_clock(m->worker) + dice_below(&g->dice, 2);
        locus_clock end = start + 1 + dice_below(&g->dice, 2);
        int rc = locus_loader_intent(m->loader, &key, 1, start, end);
        if (cluster_is_lost(m)) break;
        MUST(rc == 0, "worker %u: a loader's intent: %d, %s", m->number, rc, locus_error());
        for (unsigned n = dice_below(&g->dice, NAPS); n > 0 && !g->ends; n--) locus_fiber_yield();
        if (dice_below(&g->dice, 8)) locus_fiber_wait(is_wanted, g);
    }
    g->has_ended = true;
}

static void be_worker(void *member)
{
    struct member *m = member;
    struct guide *g = &cluster.guide[m->number];
    cluster.work(m);
    g->ends = true;
    locus_fiber_wait(has_ended, g);
    int rc = locus_wait_all(m->worker);
    if (rc == 0) rc = locus_loader_close(m->loader);
    if (rc == 0) rc = locus_worker_close(m->worker);
    MUST(rc == 0 || cluster_is_lost(m), "worker %u cannot close: %d, %s", m->number, rc,
         locus_error());
    platform_worker_ended();
}

static void add_worker(struct member *m, const struct shape *s, unsigned number, struct dice *d)
{
    *m = (struct member){.node = cluster.node[number / s->workers],
                         .number = number,
                         .total = s->nodes * s->workers,
                         .dice = {dice_throw(d)}};
    MUST(locus_worker_open(m->node, &m->worker) == 0 &&
             locus_loader_open(m->worker, &m->loader) == 0,
         "worker %u cannot open: %s", number, locus_error());
    cluster.guide[number] = (struct guide){.member = m, .dice = {dice_throw(d)}};
    fibers_add(be_worker, m);
    fibers_add(signal_intents, &cluster.guide[number]);
}

static void open_nodes(const struct shape *s)
{
    struct locus_config c;
    locus_config_init(&c);
    c.tables = cluster.tables->table;
    c.table_count = cluster.tables->count;
    c.workers = s->workers;
    c.shards = s->shards;
    c.technique = s->technique;
    c.survives = s->survives;
    setenv("LOCUS_LAB", s->acts_immediately ? "immediate" : "", 1);
    c.size = (int)s->nodes;
    c.rendezvous = "simulated:1";
    for (c.rank = 0; c.rank < c.size; c.rank++)
        MUST(locus_open(&c, &cluster.node[c.rank]) == 0, "node %d cannot open: %s", c.rank,
             locus_error());
}

static void close_nodes(const struct shape *s)
{
    for (unsigned n = 0; n < s->nodes; n++) {
        struct locus_stats stats;
        if (locus_stats_read(cluster.node[n], &stats) == 0) {
            counts.replicas += stats.replicas_created;
            counts.relocations += stats.relocated_in;
        }
        bool is_lost = s->nodes > 1 && platform_is_lost(n);
        MUST(locus_close(cluster.node[n]) == (is_lost ? -ECONNRESET : 0),
             "node %u cannot close: %s", n, locus_error());
    }
    platform_end();
}

void cluster_run(const struct tables *t, const struct shape *s, struct dice d, cluster_work *work)
{
    static const struct platform_hooks none;
    cluster.tables = t;
    cluster.work = work;
    cluster.nodes = s->nodes;
    fibers_begin((enum fibers_policy)dice_below(&d, FIBERS_POLICIES), dice_throw(&d));
    /* A node that is alone joins nobody. */
    platform_begin(s->nodes > 1 ? s->nodes : 0, s->shards, &none, (struct dice){dice_throw(&d)});
    open_nodes(s);
    for (unsigned w = 0; w < s->nodes * s->workers; w++) add_worker(&cluster.member[w], s, w, &d);
    platform_add_reactors(s->nodes * s->workers);
    enum fibers_end end = fibers_run(STEPS_MAX);
    MUST(end == FIBERS_ENDED, end == FIBERS_STUCK ? "stuck: all wait" : "no end");
    close_nodes(s);
}
