/* A node of a cell: training without the training. A batch of keys a clock, intent signaled
 * ahead. */
#include "bench.h"
#include "virtual.h"

#include "../common/cluster.h"
#include "../common/keys.h"
#include "../common/rows.h"

#include <stdlib.h>

/* ---- How old what is read is. Every push adds 1 to a row's first value, so a row says how many
 * pushes it shows; when the others were made is kept here, for all nodes and the first rows. ---- */

enum { LAG_ROWS = 32 };

static struct {
    struct times {
        uint64_t *ns;
        size_t count, capacity;
    } row[LAG_ROWS];
    double sum_ns;
    uint64_t looks;
} lag;

static void lag_pushed(locus_key key)
{
    if (key >= LAG_ROWS) return;
    struct times *t = &lag.row[key];
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 1024;
        t->ns = realloc(t->ns, t->capacity * sizeof *t->ns);
        if (!t->ns) abort();
    }
    t->ns[t->count++] = virtual_now_ns();
}

/* `count`: pushes that the row shows. */
static void lag_pulled(locus_key key, float count)
{
    if (key >= LAG_ROWS) return;
    const struct times *t = &lag.row[key];
    size_t shown = (size_t)count;
    lag.looks++;
    if (shown < t->count) lag.sum_ns += (double)(virtual_now_ns() - t->ns[shown]);
}

static void lag_begin(void)
{
    lag.sum_ns = 0;
    lag.looks = 0;
}

double lag_mean_s(void)
{
    return lag.looks ? lag.sum_ns / 1e9 / (double)lag.looks : 0;
}

/* ---- A node ---- */

void node_open(struct node *n)
{
    bool is_shared = n->kind->workload == SHARED;
    const struct locus_table table = {.rows = (uint64_t)n->load.rows *
                                              (is_shared ? 1 : n->kind->nodes),
                                      .length = n->load.length};
    struct locus_config c =
        cluster_config(&table, 1, LOCUS_ADAPTIVE, (int)n->rank, (int)n->kind->nodes, "simulated:1");
    c.shards = 1;
    cluster_open(&c, &n->locus, &n->worker);
}

static locus_key *draw(const struct node *n)
{
    const struct load *load = &n->load;
    size_t count = (size_t)load->clocks * load->keys;
    if (n->kind->workload != SHARED)
        return keys_of_node(locus_keys(n->locus), n->kind->nodes, n->rank, n->kind->workload == OWN,
                            count);
    locus_key *keys = must_alloc(load->keys * sizeof *keys);
    for (unsigned i = 0; i < load->keys; i++) keys[i] = i;
    return keys;
}

static void signal_batch(struct node *n, const locus_key *keys, unsigned clock)
{
    size_t count = n->load.keys;
    must(locus_intent(n->worker, keys + clock * count, count, clock, clock + 1), "locus_intent");
}

static void access_batch(struct node *n, const locus_key *keys, float *values, const float *updates)
{
    const struct load *load = &n->load;
    bool is_shared = n->kind->workload != OWN;
    must(locus_pull(n->worker, keys, load->keys, values), "locus_pull");
    for (size_t i = 0; is_shared && i < load->keys; i++)
        lag_pulled(keys[i], values[i * load->length]);
    must(locus_push(n->worker, keys, load->keys, updates), "locus_push");
    for (size_t i = 0; is_shared && i < load->keys; i++) lag_pushed(keys[i]);
    platform_work((model.pull + model.push) * load->keys);
}

static void timed_begin(struct node *n)
{
    if (n->rank == 0) lag_begin();
    must(locus_stats_read(n->locus, &n->before), "locus_stats_read");
    n->figures_before = platform_figures(n->rank);
    n->began_ns = virtual_now_ns();
}

static void look(struct node *n)
{
    n->copies += (double)platform_replicas(n->rank);
    if (n->rank == 0) n->holders += platform_holders(0);
    n->looks++;
}

static void timed_end(struct node *n)
{
    n->seconds = (double)(virtual_now_ns() - n->began_ns) / 1e9;
    n->peers = platform_peers(n->rank, n->began_ns);
    must(locus_stats_read(n->locus, &n->used), "locus_stats_read");
    n->figures = platform_figures(n->rank);
}

/* Nodes begin their clocks at different moments of the period, as threads do that nobody starts
 * together. */
static uint64_t first_ns(const struct node *n)
{
    uint64_t period = n->load.period_us * UINT64_C(1000);
    return virtual_now_ns() + period * n->rank / n->kind->nodes;
}

/* ---- shared rows ---- */

static bool holds_all(struct node *n, const locus_key *keys, float *value)
{
    for (unsigned i = 0; i < n->kind->keys; i++)
        if (locus_pull_local(n->worker, keys[i], value)) return false;
    return true;
}

static void keep_all(struct node *n, const locus_key *keys, float *value)
{
    must(locus_intent(n->worker, keys, n->kind->keys, 0, LOCUS_FOREVER), "locus_intent");
    while (!holds_all(n, keys, value)) virtual_sleep_until(virtual_now_ns() + 100000);
    must(locus_barrier(n->worker), "locus_barrier");
}

/* ---- clocks ---- */

static void run_clocks(struct node *n, const locus_key *keys, float *values, const float *updates)
{
    const struct load *load = &n->load;
    unsigned warm = load->clocks / 3;
    bool is_shared = n->kind->workload == SHARED;
    uint64_t began = first_ns(n);
    for (unsigned clock = 0; clock < load->clocks; clock++) {
        if (clock == warm) timed_begin(n);
        if (!is_shared && clock + load->offset < load->clocks)
            signal_batch(n, keys, clock + load->offset);
        virtual_sleep_until(began + clock * load->period_us * UINT64_C(1000));
        access_batch(n, is_shared ? keys : keys + (size_t)clock * load->keys, values, updates);
        if (clock >= warm) look(n);
        locus_advance_clock(n->worker);
    }
    timed_end(n);
}

static void quiesce(struct node *n)
{
    must(locus_barrier(n->worker), "locus_barrier");
    uint64_t began = virtual_now_ns(), messages = platform_figures(n->rank).frames_out;
    must(locus_quiesce(n->worker), "locus_quiesce");
    n->quiesce_s = (double)(virtual_now_ns() - began) / 1e9;
    n->quiesce_messages = (double)(platform_figures(n->rank).frames_out - messages);
}

void node_run(void *node)
{
    struct node *n = node;
    const struct load *load = &n->load;
    size_t floats = (size_t)load->keys * load->length;
    float *values = must_alloc(floats * sizeof *values),
          *updates = must_alloc(floats * sizeof *updates);
    locus_key *keys = draw(n);
    for (unsigned i = 0; i < load->keys; i++) updates[(size_t)i * load->length] = 1;
    rows_write_own(n->locus, n->worker, row_zero);
    must(locus_quiesce(n->worker), "locus_quiesce");
    if (n->kind->workload == SHARED) keep_all(n, keys, values);
    for (unsigned clock = 0; clock < load->offset && clock < load->clocks && !n->kind->keys;
         clock++)
        signal_batch(n, keys, clock);
    must(locus_barrier(n->worker), "locus_barrier");
    run_clocks(n, keys, values, updates);
    quiesce(n);
    must(locus_worker_close(n->worker), "locus_worker_close");
    free(values);
    free(updates);
    free(keys);
}
