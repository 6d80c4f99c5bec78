#include "pool.h"

#include "doubles.h"
#include "fail.h"
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    RECORD = POOL_NODES_MAX, /* its rows lie behind those of the nodes' figures */
    SUM_FLOATS = POOL_FIGURES_MAX * DOUBLES_FLOATS,
    HUGE_PAGE = 1 << 21
};

static void place_tables(struct pool *pool, const struct pool_config *config,
                         struct locus_table *tables)
{
    if (config->table_count > POOL_TABLES_MAX)
        fail("%zu tables are more than a pool has", config->table_count);
    if (config->table_count == 0 || config->tables[0].length == 0)
        fail("a pool needs a table whose rows have floats");
    memcpy(tables, config->tables, config->table_count * sizeof *tables);
    /* As long as other rows: where all rows have one length, none has to be looked for by its
     * table. */
    uint32_t length = config->tables[0].length;
    pool->figure_rows = (SUM_FLOATS + length - 1) / length;
    tables[config->table_count] = (struct locus_table){
        .name = "figures", .rows = (POOL_NODES_MAX + 1) * pool->figure_rows, .length = length};
    pool->table_count = config->table_count + 1;
    locus_key first = 0;
    for (size_t i = 0; i < pool->table_count; i++) {
        pool->tables[i] =
            (struct pool_table){.first = first,
                                .rows = tables[i].rows,
                                .length = tables[i].length,
                                .stride = tables[i].length * (tables[i].optimizer ? 2 : 1),
                                .rate = (double)tables[i].rule.rate};
        first += tables[i].rows;
    }
}

/* In huge pages, as locus has its rows. */
static float *take_array(size_t bytes)
{
    size_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    void *array = aligned_alloc(HUGE_PAGE, whole);
    if (!array) fail("%zu bytes for a table could not be had", bytes);
    madvise(array, whole, MADV_HUGEPAGE);
    return memset(array, 0, whole);
}

static void open_arrays(struct pool *pool)
{
    for (size_t i = 0; i + 1 < pool->table_count; i++) {
        struct pool_table *t = &pool->tables[i];
        t->values = take_array(t->rows * t->stride * sizeof(float));
    }
}

static void set_rates(const struct pool *pool, double share)
{
    for (unsigned i = 0; i < pool->table_count; i++) {
        const struct pool_table *t = &pool->tables[i];
        if (t->stride > t->length)
            must(locus_table_rate(pool->node, i, t->rate * share), "setting a learning rate");
    }
}

static void open_node(struct pool *pool, const struct pool_config *config,
                      const struct locus_table *tables)
{
    struct locus_config c;
    locus_config_init(&c);
    c.tables = tables;
    c.table_count = pool->table_count;
    c.workers = config->workers + config->spare;
    c.technique = config->technique;
    c.max_rounds_per_second = config->max_rounds;
    c.fingerprint = config->fingerprint;
    world_place(&c);
    must(locus_open(&c, &pool->node), "joining the cluster");
    pool->rank = locus_rank(pool->node);
    pool->size = locus_size(pool->node);
    if (pool->size > POOL_NODES_MAX) fail("%d nodes are more than %d", pool->size, POOL_NODES_MAX);
    set_rates(pool, 1); /* of 0, too, which locus_open() takes for the usual one */
}

/* Who starts several, under locus run or mpirun, would get as many baselines that know nothing of
 * each other. */
static void refuse_company(void)
{
    const struct locus_table table = {.name = "baseline", .rows = 1, .length = 1};
    struct locus_config c;
    locus *node;
    locus_config_init(&c);
    c.tables = &table;
    c.table_count = 1;
    must(locus_open(&c, &node), "looking for other nodes");
    if (locus_size(node) > 1)
        fail("--baseline is one process, but there are %d nodes: start it alone", locus_size(node));
    must(locus_close(node), "looking for other nodes");
}

void pool_open(struct pool *pool, const struct pool_config *config)
{
    struct locus_table tables[POOL_TABLES_MAX + 1];
    *pool = (struct pool){.size = 1,
                          .workers = config->workers,
                          .spare = config->spare,
                          .bound = config->bound,
                          .task = config->task};
    place_tables(pool, config, tables);
    world_meeting_init(&pool->meeting, config->workers);
    if (config->is_baseline) {
        refuse_company();
        open_arrays(pool);
    } else {
        open_node(pool, config, tables);
    }
}

void pool_close(struct pool *pool)
{
    must(locus_close(pool->node), "leaving the cluster");
    for (size_t i = 0; i < pool->table_count; i++) free(pool->tables[i].values);
    world_meeting_fini(&pool->meeting);
}

/* ---- the workers ---- */

struct start {
    struct pool *pool;
    pool_work *work;
    void *context;
    unsigned index;
    struct world_thread thread;
};

/* Other nodes' figures, of which there are none: locus asks no directory where a node is alone and
 * all rows are written. */
static void write_unused(struct pool_member *m)
{
    if (m->worker && m->pool->size == 1) rows_init(m, m->pool->table_count - 1, NULL, NULL);
    pool_meet_here(m);
}

/* A collective waits for workers that have not yet opened, and not for those that have closed. */
static void close_spare(struct pool_member *m)
{
    locus_worker *spare[LOCUS_WORKERS_MAX];
    unsigned count = m->worker ? m->pool->spare : 0;
    pool_meet_here(m);
    if (m->index == 0) {
        for (unsigned i = 0; i < count; i++)
            must(locus_worker_open(m->pool->node, &spare[i]), "opening a worker");
        for (unsigned i = 0; i < count; i++) must(locus_worker_close(spare[i]), "closing a worker");
    }
    pool_meet_here(m);
}

static void *be_member(void *start)
{
    const struct start *s = start;
    struct pool *pool = s->pool;
    struct pool_member m = {.pool = pool, .index = s->index, .rate = 1};
    if (pool->node) {
        must(locus_worker_open(pool->node, &m.worker), "opening a worker");
        m.index = (unsigned)locus_worker_id(m.worker);
    }
    m.total = pool->workers * (unsigned)pool->size;
    m.place = (unsigned)pool->rank * pool->workers + m.index;
    close_spare(&m);
    write_unused(&m);
    s->work(&m, s->context);
    if (m.worker) must(locus_worker_close(m.worker), "closing a worker");
    return NULL;
}

void pool_run(struct pool *pool, pool_work *work, void *context)
{
    struct start *starts = take_memory(pool->workers, sizeof *starts);
    for (unsigned i = 0; i < pool->workers; i++) {
        starts[i] = (struct start){.pool = pool, .work = work, .context = context, .index = i};
        if (world_start(&starts[i].thread, "worker", be_member, &starts[i]) != 0)
            fail("worker thread %u could not be started", i);
    }
    for (unsigned i = 0; i < pool->workers; i++) world_join(&starts[i].thread);
    free(starts);
}

void pool_set_rate(struct pool_member *m, double share)
{
    if (m->rate == share) return;
    m->rate = share;
    if (m->worker) set_rates(m->pool, share);
}

/* ---- meeting ---- */

void pool_meet_here(struct pool_member *m)
{
    world_meet(&m->pool->meeting);
}

void pool_meet(struct pool_member *m)
{
    if (m->worker) {
        must(locus_barrier(m->worker), "meeting the other nodes");
    } else {
        pool_meet_here(m);
    }
}

void pool_quiesce(struct pool_member *m)
{
    if (m->worker) {
        must(locus_quiesce(m->worker), "quiescing with the other nodes");
    } else {
        pool_meet_here(m);
    }
}

static void figure_keys(const struct pool *pool, int node, locus_key *keys)
{
    locus_key first = pool->tables[pool->table_count - 1].first +
                      (locus_key)node * pool->figure_rows;
    for (uint32_t i = 0; i < pool->figure_rows; i++) keys[i] = first + i;
}

static void write_figures(const struct pool_member *m, size_t count, locus_key *keys, float *rows)
{
    const struct pool *pool = m->pool;
    doubles_put(rows, pool->figures, count);
    figure_keys(pool, pool->rank, keys);
    must(locus_set(m->worker, keys, pool->figure_rows, rows), "writing figures");
}

static void read_figures(const struct pool_member *m, size_t count, locus_key *keys, float *rows)
{
    struct pool *pool = m->pool;
    memset(pool->figures, 0, sizeof pool->figures);
    for (int node = 0; node < pool->size; node++) {
        figure_keys(pool, node, keys);
        must(locus_pull(m->worker, keys, pool->figure_rows, rows), "reading figures");
        doubles_add(pool->figures, rows, count);
    }
}

static float *take_rows(const struct pool *pool, locus_key **keys)
{
    *keys = take_memory(pool->figure_rows, sizeof **keys);
    return take_memory((size_t)pool->figure_rows * pool->tables[0].length, sizeof(float));
}

void pool_set_record(const struct pool_member *m, const double *figures, size_t count)
{
    const struct pool *pool = m->pool;
    locus_key *keys;
    float *rows = take_rows(pool, &keys);
    doubles_put(rows, figures, count);
    figure_keys(pool, RECORD, keys);
    must(locus_set(m->worker, keys, pool->figure_rows, rows), "writing the record");
    free(keys);
    free(rows);
}

void pool_get_record(const struct pool_member *m, double *figures, size_t count)
{
    const struct pool *pool = m->pool;
    locus_key *keys;
    float *rows = take_rows(pool, &keys);
    figure_keys(pool, RECORD, keys);
    must(locus_pull(m->worker, keys, pool->figure_rows, rows), "reading the record");
    memset(figures, 0, count * sizeof *figures);
    doubles_add(figures, rows, count);
    free(keys);
    free(rows);
}

/* Each node writes what its workers summed up into its own rows; all read all rows. */
static void exchange(struct pool_member *m, size_t count)
{
    const struct pool *pool = m->pool;
    locus_key *keys = NULL;
    float *rows = NULL;
    if (m->index == 0) {
        rows = take_rows(pool, &keys);
        write_figures(m, count, keys, rows);
    }
    pool_quiesce(m);
    if (m->index == 0) read_figures(m, count, keys, rows);
    free(keys);
    free(rows);
    /* Nobody writes the next figures before all have read these. */
    pool_meet(m);
}

static void sum_some(struct pool_member *m, double *figures, size_t count)
{
    struct pool *pool = m->pool;
    if (m->index == 0) memset(pool->figures, 0, sizeof pool->figures);
    /* One after the other, in the same order each time: sums are the same in every run. */
    for (unsigned i = 0; i < pool->workers; i++) {
        pool_meet_here(m);
        if (m->index != i) continue;
        for (size_t f = 0; f < count; f++) pool->figures[f] += figures[f];
    }
    pool_meet_here(m);
    if (m->worker) exchange(m, count);
    pool_meet_here(m);
    memcpy(figures, pool->figures, count * sizeof *figures);
    pool_meet_here(m);
}

void pool_sum(struct pool_member *m, double *figures, size_t count)
{
    for (; count > POOL_FIGURES_MAX; figures += POOL_FIGURES_MAX, count -= POOL_FIGURES_MAX)
        sum_some(m, figures, POOL_FIGURES_MAX);
    sum_some(m, figures, count);
}

void pool_share(uint64_t total, unsigned place, unsigned places, uint64_t *first, uint64_t *end)
{
    uint64_t each = total / places, longer = total % places;
    *first = each * place + (place < longer ? place : longer);
    *end = *first + each + (place < longer);
}
