#include "pool.h"

#include "fail.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 1 << 21 };

static void place_tables(struct pool *pool, const struct pool_config *config)
{
    if (config->table_count > POOL_TABLES_MAX)
        fail("%zu tables are more than a pool has", config->table_count);
    if (config->table_count == 0 || config->tables[0].length == 0)
        fail("a pool needs a table whose rows have floats");
    pool->table_count = config->table_count;
    locus_key first = 0;
    for (size_t i = 0; i < pool->table_count; i++) {
        const struct locus_table *t = &config->tables[i];
        pool->tables[i] = (struct pool_table){.first = first,
                                              .rows = t->rows,
                                              .length = t->length,
                                              .stride = t->length * (t->optimizer ? 2 : 1),
                                              .rate = (double)t->rule.rate};
        first += t->rows;
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
    for (size_t i = 0; i < pool->table_count; i++) {
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

static void read_losses(struct pool *pool)
{
    struct locus_losses l;
    must(locus_losses_read(pool->node, &l), "looking for losses");
    pool->survives = l.survives;
    pool->is_newcomer = l.is_newcomer;
}

static void open_node(struct pool *pool, const struct pool_config *config)
{
    struct locus_config c;
    locus_config_init(&c);
    c.tables = config->tables;
    c.table_count = config->table_count;
    c.workers = config->workers + config->spare;
    c.technique = config->technique;
    c.fingerprint = config->fingerprint;
    world_place(&c);
    must(locus_open(&c, &pool->node), "joining the cluster");
    pool->rank = locus_rank(pool->node);
    pool->size = locus_size(pool->node);
    read_losses(pool);
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
    *pool = (struct pool){.size = 1,
                          .workers = config->workers,
                          .spare = config->spare,
                          .bound = config->bound,
                          .task = config->task};
    place_tables(pool, config);
    world_meeting_init(&pool->meeting, config->workers);
    if (config->is_baseline) {
        refuse_company();
        open_arrays(pool);
    } else {
        open_node(pool, config);
    }
}

void pool_close(struct pool *pool)
{
    must(pool->leaves ? locus_leave(pool->node) : locus_close(pool->node), "leaving the cluster");
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

const void *pool_first_gives(struct pool_member *m, const void *mine)
{
    if (m->index == 0) m->pool->given = mine;
    pool_meet_here(m);
    return m->pool->given;
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

static void sum_some(struct pool_member *m, double *figures, size_t count)
{
    struct pool *pool = m->pool;
    if (m->worker) {
        must(locus_sum(m->worker, figures, count), "summing up with the other nodes");
        return;
    }
    if (m->index == 0) memset(pool->figures, 0, sizeof pool->figures);
    /* One after the other, in the same order each time: sums are the same in every run. */
    for (unsigned i = 0; i < pool->workers; i++) {
        pool_meet_here(m);
        if (m->index != i) continue;
        for (size_t f = 0; f < count; f++) pool->figures[f] += figures[f];
    }
    pool_meet_here(m);
    memcpy(figures, pool->figures, count * sizeof *figures);
    pool_meet_here(m);
}

void pool_sum(struct pool_member *m, double *figures, size_t count)
{
    pool_quiesce(m);
    if (m->total == 1) return;
    for (; count > POOL_FIGURES_MAX; figures += POOL_FIGURES_MAX, count -= POOL_FIGURES_MAX)
        sum_some(m, figures, POOL_FIGURES_MAX);
    sum_some(m, figures, count);
}

void pool_let_in(struct pool_member *m, double *figures, size_t count)
{
    must(locus_meet(m->worker, figures, count), "meeting nodes that have come");
}

/* ---- leaving when told to ---- */

static int is_told; /* atomic, as the handler runs on one thread and workers look on theirs */

static void on_term(int signal)
{
    __atomic_store_n(&is_told, 1, __ATOMIC_RELAXED);
    fail_ends_by(signal);
}

void pool_heeds_term(struct pool *pool)
{
    const struct sigaction heed = {.sa_handler = on_term,
                                   .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    pool->may_leave = pool->survives && pool->rank > 0;
    if (pool->may_leave) sigaction(SIGTERM, &heed, NULL);
}

bool pool_is_told(const struct pool *pool)
{
    return __atomic_load_n(&is_told, __ATOMIC_RELAXED) && pool->may_leave;
}

/* The first asks when all have come, so it knows whatever any of them knew. */
bool pool_must_leave(struct pool_member *m)
{
    struct pool *pool = m->pool;
    if (!pool->may_leave) return false;
    pool_meet_here(m);
    bool leaves = pool_first_gives(m, pool_is_told(pool) ? pool : NULL) != NULL;
    if (m->index == 0) pool->leaves = leaves;
    pool_meet_here(m);
    return leaves;
}

/* ---- nodes that come and go ---- */

/* A bit for each node, as many in a number as it has exactly. */
enum { THERE_BITS = 52, THERE_NODES_MAX = 4096 };

bool pool_deal(struct pool_member *m)
{
    const struct pool *pool = m->pool;
    double there[THERE_NODES_MAX / THERE_BITS + 1] = {0};
    unsigned rank = (unsigned)pool->rank, nodes = 0, node = 0, before = pool_nodes(m);
    size_t words = (size_t)pool->size / THERE_BITS + 1;
    if (m->index == 0) there[rank / THERE_BITS] = (double)(UINT64_C(1) << rank % THERE_BITS);
    for (size_t at = 0; at < words; at += POOL_FIGURES_MAX)
        sum_some(m, there + at, words - at < POOL_FIGURES_MAX ? words - at : POOL_FIGURES_MAX);
    for (unsigned i = 0; i < (unsigned)pool->size; i++) {
        bool is_there = (uint64_t)there[i / THERE_BITS] >> i % THERE_BITS & 1;
        nodes += is_there;
        node += is_there && i < rank;
    }
    m->place = node * pool->workers + m->index;
    m->total = nodes * pool->workers;
    return nodes != before;
}

void pool_share(uint64_t total, unsigned place, unsigned places, uint64_t *first, uint64_t *end)
{
    uint64_t each = total / places, longer = total % places;
    *first = each * place + (place < longer ? place : longer);
    *end = *first + each + (place < longer);
}
