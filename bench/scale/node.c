/* A node of a cell: training without the training. A batch of keys a clock, intent signaled
 * ahead. */
#include "bench.h"

#include "../common/keys.h"

#include <stdlib.h>

enum { CHUNK = 64 };

void node_open(struct node *n)
{
    const struct load load = load_of(n->bench, n->cell);
    bool is_shared = n->cell->workload == SHARED;
    const struct locus_table table = {
        .rows = (uint64_t)load.rows * (is_shared ? 1 : n->cell->nodes), .length = load.length};
    struct locus_config c;
    locus_config_init(&c);
    c.tables = &table;
    c.table_count = 1;
    c.shards = 1;
    c.rank = (int)n->rank;
    c.size = (int)n->cell->nodes;
    c.max_rounds_per_second = load.max_rounds;
    c.rendezvous = "simulated:1";
    must(locus_open(&c, &n->locus), "locus_open");
    must(locus_worker_open(n->locus, &n->worker), "locus_worker_open");
}

/* A row that was never written has no memory; moving or copying it would be too cheap. */
static void write_own_rows(struct node *n)
{
    float *rows = must_alloc((size_t)CHUNK * n->bench->load.length * sizeof *rows);
    locus_key keys[CHUNK];
    size_t count;
    for (locus_key from = 0; (count = locus_owned(n->locus, from, keys, CHUNK)) > 0;
         from = keys[count - 1] + 1)
        must(locus_set(n->worker, keys, count, rows), "locus_set");
    free(rows);
}

static locus_key *all_keys(unsigned count)
{
    locus_key *keys = must_alloc(count * sizeof *keys);
    for (unsigned i = 0; i < count; i++) keys[i] = i;
    return keys;
}

/* Equal at all nodes but for the seed (SKEWED), or a slice of the rows for each node (OWN). */
static locus_key *draw(const struct node *n)
{
    const struct load *load = &n->bench->load;
    size_t count = (size_t)load->clocks * load->keys;
    locus_key *keys = must_alloc(count * sizeof *keys), slice = (locus_key)load->rows * n->rank;
    bool own = n->cell->workload == OWN;
    if (n->cell->workload == SHARED) return all_keys(n->cell->keys);
    keys_fill(keys, count, KEYS_ZIPF, own ? load->rows : locus_keys(n->locus),
              7 + (uint64_t)n->rank);
    for (size_t i = 0; own && i < count; i++) keys[i] += slice;
    return keys;
}

static void signal_batch(struct node *n, const locus_key *keys, unsigned clock)
{
    size_t count = n->bench->load.keys;
    platform_signaled(n->rank, count);
    must(locus_intent(n->worker, keys + clock * count, count, clock, clock + 1), "locus_intent");
}

static void access_batch(struct node *n, const locus_key *keys, float *values, const float *updates)
{
    const struct load *load = &n->bench->load;
    const struct model *m = &n->bench->model;
    bool is_shared = n->cell->workload == SKEWED;
    must(locus_pull(n->worker, keys, load->keys, values), "locus_pull");
    for (size_t i = 0; is_shared && i < load->keys; i++)
        lag_pulled(keys[i], values[i * load->length]);
    must(locus_push(n->worker, keys, load->keys, updates), "locus_push");
    for (size_t i = 0; is_shared && i < load->keys; i++) lag_pushed(keys[i]);
    platform_work((m->pull + m->push) * load->keys);
}

static void timed_begin(struct node *n)
{
    if (n->rank == 0) lag_begin();
    must(locus_stats_read(n->locus, &n->before), "locus_stats_read");
    n->figures_before = platform_figures(n->rank);
    n->began_ns = platform_now_ns();
}

static void look(struct node *n)
{
    n->copies += (double)platform_replicas(n->rank);
    if (n->rank == 0) n->holders += platform_holders(0);
    n->looks++;
}

static void timed_end(struct node *n)
{
    n->seconds = (double)(platform_now_ns() - n->began_ns) / 1e9;
    n->peers = platform_peers(n->rank, n->began_ns);
    must(locus_stats_read(n->locus, &n->used), "locus_stats_read");
    n->figures = platform_figures(n->rank);
}

/* Nodes begin their clocks at different moments of the period, as threads do that nobody starts
 * together. */
static uint64_t first_ns(const struct node *n)
{
    uint64_t period = load_of(n->bench, n->cell).period_us * UINT64_C(1000);
    return platform_now_ns() + period * n->rank / n->cell->nodes;
}

/* ---- shared rows ---- */

static bool holds_all(struct node *n, const locus_key *keys, float *value)
{
    for (unsigned i = 0; i < n->cell->keys; i++)
        if (locus_pull_local(n->worker, keys[i], value)) return false;
    return true;
}

static void keep_all(struct node *n, const locus_key *keys, float *value)
{
    must(locus_intent(n->worker, keys, n->cell->keys, 0, LOCUS_FOREVER), "locus_intent");
    while (!holds_all(n, keys, value)) platform_sleep_until(platform_now_ns() + 100000);
    must(locus_barrier(n->worker), "locus_barrier");
}

static void change_all(struct node *n, const locus_key *keys, float *values, const float *updates)
{
    const struct load load = load_of(n->bench, n->cell);
    const struct model *m = &n->bench->model;
    must(locus_pull(n->worker, keys, load.keys, values), "locus_pull");
    for (size_t i = 0; i < load.keys; i++) lag_pulled(keys[i], values[i * load.length]);
    must(locus_push(n->worker, keys, load.keys, updates), "locus_push");
    for (size_t i = 0; i < load.keys; i++) lag_pushed(keys[i]);
    platform_work((m->pull + m->push) * load.keys);
}

/* ---- clocks ---- */

static void run_clocks(struct node *n, const locus_key *keys, float *values, const float *updates)
{
    const struct load load = load_of(n->bench, n->cell);
    unsigned warm = load.clocks / 3;
    bool is_shared = n->cell->workload == SHARED;
    uint64_t began = first_ns(n);
    for (unsigned clock = 0; clock < load.clocks; clock++) {
        if (clock == warm) timed_begin(n);
        if (!is_shared && clock + load.offset < load.clocks)
            signal_batch(n, keys, clock + load.offset);
        platform_sleep_until(began + clock * load.period_us * UINT64_C(1000));
        if (is_shared)
            change_all(n, keys, values, updates);
        else
            access_batch(n, keys + (size_t)clock * load.keys, values, updates);
        if (clock >= warm) look(n);
        locus_advance_clock(n->worker);
    }
    timed_end(n);
}

static void quiesce(struct node *n)
{
    must(locus_barrier(n->worker), "locus_barrier");
    uint64_t began = platform_now_ns(), messages = platform_figures(n->rank).frames_out;
    must(locus_quiesce(n->worker), "locus_quiesce");
    n->quiesce_s = (double)(platform_now_ns() - began) / 1e9;
    n->quiesce_messages = (double)(platform_figures(n->rank).frames_out - messages);
}

void node_run(void *node)
{
    struct node *n = node;
    const struct load load = load_of(n->bench, n->cell);
    size_t floats = (size_t)load.keys * load.length;
    float *values = must_alloc(floats * sizeof *values),
          *updates = must_alloc(floats * sizeof *updates);
    locus_key *keys = draw(n);
    for (unsigned i = 0; i < load.keys; i++) updates[(size_t)i * load.length] = 1;
    write_own_rows(n);
    must(locus_quiesce(n->worker), "locus_quiesce");
    if (n->cell->workload == SHARED) keep_all(n, keys, values);
    for (unsigned clock = 0; clock < load.offset && clock < load.clocks && !n->cell->keys; clock++)
        signal_batch(n, keys, clock);
    must(locus_barrier(n->worker), "locus_barrier");
    run_clocks(n, keys, values, updates);
    quiesce(n);
    must(locus_worker_close(n->worker), "locus_worker_close");
    free(values);
    free(updates);
    free(keys);
}
