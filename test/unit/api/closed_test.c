/* What was closed, freed, or belongs to the process that has forked this one is refused with a
 * sentence by every call, and so is what no call can use: NULL, and more keys than memory has. */
#include "locus_schedule.h"

#include "base/error.h"
#include "one_node.h"

#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 8, LENGTH = 3 };

struct scene {
    locus *node;
    locus_worker *worker;
    locus_loader *loader;
    locus_distribution *distribution;
};

static void scene_begin(struct scene *s)
{
    s->node = one_node(ROWS, LENGTH, 2);
    s->worker = worker_of(s->node);
    CHECK_EQ(locus_loader_open(s->worker, &s->loader), 0);
    CHECK_EQ(locus_distribution_uniform(s->node, 0, ROWS, LOCUS_CONFORM, 0, &s->distribution), 0);
}

static void scene_end(struct scene *s)
{
    locus_distribution_free(s->distribution);
    CHECK_EQ(locus_loader_close(s->loader), 0);
    close_both(s->node, s->worker);
}

static void refuses_accesses(locus_worker *w, int rc, const char *why)
{
    const locus_key keys[2] = {1, 2};
    float values[2 * LENGTH] = {0};
    locus_ticket ticket = 7;
    for (size_t n = 1; n <= 2; n++) {
        REFUSED(locus_pull(w, keys, n, values), rc, why);
        REFUSED(locus_push(w, keys, n, values), rc, why);
        REFUSED(locus_set(w, keys, n, values), rc, why);
        REFUSED(locus_pull_async(w, keys, n, values, &ticket), rc, why);
        REFUSED(locus_push_async(w, keys, n, values, &ticket), rc, why);
        REFUSED(locus_set_async(w, keys, n, values, &ticket), rc, why);
        REFUSED(locus_localize(w, keys, n), rc, why);
        REFUSED(locus_localize_async(w, keys, n, &ticket), rc, why);
        CHECK_EQ(ticket, 0);
    }
    REFUSED(locus_pull_local(w, 1, values), rc, why);
    REFUSED(locus_change_local(w, 1, halve, NULL), rc, why);
    REFUSED(locus_wait(w, 1), rc, why);
    REFUSED(locus_wait_all(w), rc, why);
    REFUSED(locus_done(w, 1), true, why);
    locus_prefetch(w, keys, 2);
}

static void refuses_the_rest(locus_worker *w, locus_distribution *d, int rc, const char *why)
{
    const locus_key keys[2] = {1, 2};
    locus_key drawn[2];
    locus_loader *l = (void *)&l;
    locus_sample sample;
    REFUSED(locus_intent(w, keys, 2, 1, 2), rc, why);
    REFUSED(locus_unintend(w, keys, 2), rc, why);
    REFUSED(locus_bound(w, 0), rc, why);
    REFUSED(locus_advance_clock(w), locus_current_clock(w), why);
    REFUSED(locus_worker_id(w), rc, why);
    REFUSED(locus_barrier(w), rc, why);
    REFUSED(locus_quiesce(w), rc, why);
    REFUSED(locus_sum(w, (double[]){1}, 1), rc, why);
    REFUSED(locus_meet(w, (double[]){1}, 1), rc, why);
    REFUSED(locus_checkpoint(w, "/nowhere"), rc, why);
    REFUSED(locus_restore(w, "/nowhere"), rc, why);
    REFUSED(locus_loader_open(w, &l), rc, why);
    CHECK(l == NULL);
    REFUSED(locus_prepare_sample(w, d, 2, 1, 2, &sample), rc, why);
    REFUSED(locus_pull_sample(w, 1, 2, drawn, NULL), rc, why);
    REFUSED(locus_finish_sample(w, 1), rc, why);
    locus_read_begin(w);
    CHECK_STR(locus_error(), why);
    CHECK(locus_view(w, 1) == NULL);
    locus_read_end(w);
}

static void refuses_node(locus *n, int rc, const char *why)
{
    const double weights[ROWS] = {1};
    locus_worker *w = (void *)&w;
    locus_distribution *d;
    struct locus_stats stats;
    struct locus_histogram histogram;
    locus_key owned;
    REFUSED(locus_worker_open(n, &w), rc, why);
    CHECK(w == NULL);
    REFUSED(locus_owned(n, 0, &owned, 1), 0, why);
    REFUSED(locus_stats_read(n, &stats), rc, why);
    REFUSED(locus_histogram_read(n, LOCUS_HOPS, &histogram), rc, why);
    REFUSED(locus_distribution_uniform(n, 0, 1, LOCUS_CONFORM, 0, &d), rc, why);
    REFUSED(locus_distribution_weighted(n, 0, weights, ROWS, LOCUS_CONFORM, 0, &d), rc, why);
}

static void has_no_shape(locus *n, const char *why)
{
    REFUSED(locus_rank(n), -EINVAL, why);
    REFUSED(locus_size(n), -EINVAL, why);
    REFUSED(locus_keys(n), 0, why);
    REFUSED(locus_table_first(n, 0), 0, why);
    REFUSED(locus_technique_of(n), -EINVAL, why);
    REFUSED(locus_length(n, 0), 0, why);
}

TEST_WITH(closed, calls_refuse_a_closed_worker, scene, s)
{
    const locus_key key = 1;
    float row[LENGTH] = {1, 2, 3};
    CHECK_EQ(locus_loader_close(s->loader), 0);
    CHECK_EQ(locus_worker_close(s->worker), 0);
    refuses_accesses(s->worker, -EINVAL, "worker 0 is closed");
    refuses_the_rest(s->worker, s->distribution, -EINVAL, "worker 0 is closed");
    REFUSED(locus_worker_close(s->worker), -EINVAL, "locus_worker_close: worker 0 is closed");
    CHECK(worker_of(s->node) == s->worker);
    CHECK_EQ(locus_push(s->worker, &key, 1, row), 0);
    CHECK_EQ(locus_loader_open(s->worker, &s->loader), 0);
}

TEST(closed, calls_refuse_a_closed_node)
{
    struct scene s;
    scene_begin(&s);
    scene_end(&s);
    refuses_accesses(s.worker, -EINVAL, "worker 0 is closed");
    refuses_the_rest(s.worker, s.distribution, -EINVAL, "worker 0 is closed");
    REFUSED(locus_worker_close(s.worker), -EINVAL, "locus_worker_close: worker 0 is closed");
    refuses_node(s.node, -EINVAL, "the node is closed");
    has_no_shape(s.node, "the node is closed");
    REFUSED(locus_close(s.node), -EINVAL, "locus_close: the node is closed");
}

TEST(closed, calls_refuse_closed_loaders_and_distributions)
{
    struct scene s;
    const locus_key key = 1;
    locus_sample sample;
    scene_begin(&s);
    CHECK_EQ(locus_loader_close(s.loader), 0);
    locus_distribution_free(s.distribution);
    REFUSED(locus_loader_intent(s.loader, &key, 1, 1, 2), -EINVAL,
            "locus_loader_intent: the loader is closed");
    REFUSED(locus_loader_prepare_sample(s.loader, s.distribution, 1, 1, 2, &sample), -EINVAL,
            "locus_loader_prepare_sample: the loader is closed");
    REFUSED(locus_loader_close(s.loader), -EINVAL, "locus_loader_close: the loader is closed");
    REFUSED(locus_prepare_sample(s.worker, s.distribution, 1, 1, 2, &sample), -EINVAL,
            "locus_prepare_sample: the distribution was freed");
    REFUSED(locus_distribution_seed(s.distribution, 1), -EINVAL, "the distribution was freed");
    REFUSED(locus_distribution_seed_worker(s.distribution, 0, 1), -EINVAL,
            "the distribution was freed");
    locus_distribution_free(s.distribution);
    close_both(s.node, s.worker);
}

/* The end of a closed handle's memory: many others, or large ones, were closed since. */
TEST(closed, memory_of_closed_handles_is_bounded)
{
    CLOSED_BY(scene_end) struct scene s;
    scene_begin(&s);
    scene_end(&s);
    for (int i = 0; i < CLOSED_MAX; i++) closed_keep(malloc(16), NULL, 16);
    for (int i = 0; i < 100; i++) closed_keep(malloc(16), malloc(16), CLOSED_BYTES_MAX);
    scene_begin(&s);
}

static void refuses_counts(const struct scene *s, size_t n, const char *why)
{
    const locus_key key = 1;
    float value[LENGTH];
    locus_ticket ticket;
    REFUSED(locus_pull(s->worker, &key, n, value), -EINVAL, why);
    REFUSED(locus_push(s->worker, &key, n, value), -EINVAL, why);
    REFUSED(locus_set(s->worker, &key, n, value), -EINVAL, why);
    REFUSED(locus_pull_async(s->worker, &key, n, value, &ticket), -EINVAL, why);
    REFUSED(locus_localize(s->worker, &key, n), -EINVAL, why);
    REFUSED(locus_localize_async(s->worker, &key, n, &ticket), -EINVAL, why);
    REFUSED(locus_intent(s->worker, &key, n, 1, 2), -EINVAL, why);
    REFUSED(locus_unintend(s->worker, &key, n), -EINVAL, why);
    REFUSED(locus_loader_intent(s->loader, &key, n, 1, 2), -EINVAL, why);
}

TEST_WITH(closed, calls_refuse_more_keys_than_memory_has, scene, s)
{
    refuses_counts(s, SIZE_MAX, "no array has so many keys");
    refuses_counts(s, SIZE_MAX / sizeof(locus_key), "no array has so many keys");
}

TEST_WITH(closed, calls_refuse_null, scene, s)
{
    refuses_accesses(NULL, -EINVAL, "the worker is NULL");
    refuses_the_rest(NULL, s->distribution, -EINVAL, "the worker is NULL");
    refuses_node(NULL, -EINVAL, "the node is NULL");
    has_no_shape(NULL, "the node is NULL");
    REFUSED(locus_loader_intent(NULL, NULL, 1, 1, 2), -EINVAL, "the loader is NULL");
    REFUSED(locus_loader_prepare_sample(NULL, s->distribution, 1, 1, 2, NULL), -EINVAL,
            "the loader is NULL");
    REFUSED(locus_distribution_seed(NULL, 1), -EINVAL, "the distribution is NULL");
    REFUSED(locus_distribution_seed_worker(NULL, 0, 1), -EINVAL, "the distribution is NULL");
    REFUSED(locus_stats_read_sized(s->node, NULL, 8), -EINVAL, "the result is NULL");
    REFUSED(locus_histogram_read(s->node, LOCUS_HOPS, NULL), -EINVAL, "the result is NULL");
    locus_config_init((struct locus_config *)NULL);
}

/* ---- schedules ---- */

TEST(closed, calls_refuse_a_freed_schedule)
{
    struct locus_schedule_config c;
    struct locus_scheduler_config sc;
    struct locus_part part;
    struct locus_port_stats stats;
    struct locus_table tables[LOCUS_SCHEDULER_TABLES];
    const struct locus_part *parts;
    size_t count;
    float figure = 0;
    locus_schedule *s;
    locus_schedule_config_init(&c);
    CHECK_EQ(locus_schedule_new(&c, &s), 0);
    REFUSED(locus_schedule_next(s, NULL), -EINVAL, "`parts` is NULL");
    locus_schedule_free(s);
    for (int i = 0; i < 2; i++) {
        locus_schedule *gone = i ? s : NULL;
        const char *why = i ? "the schedule was freed" : "the schedule is NULL";
        REFUSED(locus_schedule_next(gone, &part), -EINVAL, why);
        locus_schedule_changed(gone, 0, 1);
        CHECK_STR(locus_error(), why);
        locus_schedule_done(gone);
        locus_schedule_free(gone);
    }
    locus_schedule_config_init((struct locus_schedule_config *)NULL);
    locus_scheduler_config_init((struct locus_scheduler_config *)NULL);
    locus_scheduler_config_init(&sc);
    REFUSED(locus_scheduler_tables(NULL, tables), -EINVAL, "the configuration is NULL");
    REFUSED(locus_scheduler_tables(&sc, NULL), -EINVAL, "`tables` is NULL");
    REFUSED(locus_port_schedule(NULL, &parts, &count), -EINVAL, "the port is NULL");
    REFUSED(locus_port_push(NULL, &figure), -EINVAL, "the port is NULL");
    REFUSED(locus_port_pull(NULL, &figure), -EINVAL, "the port is NULL");
    REFUSED(locus_port_sync(NULL, &figure), -EINVAL, "the port is NULL");
    locus_port_stats(NULL, &stats);
    CHECK_EQ(stats.rounds, 0);
    locus_port_stats(NULL, (struct locus_port_stats *)NULL);
}

static void refuses_port(locus_port *p, int rc, const char *why)
{
    const struct locus_part *parts;
    struct locus_port_stats stats;
    size_t count;
    float figure = 0;
    REFUSED(locus_port_schedule(p, &parts, &count), rc, why);
    REFUSED(locus_port_push(p, &figure), rc, why);
    REFUSED(locus_port_pull(p, &figure), rc, why);
    REFUSED(locus_port_sync(p, &figure), rc, why);
    REFUSED(locus_port_close(p), rc, why);
    locus_port_stats(p, &stats);
    CHECK_EQ(stats.rounds, 0);
}

TEST(closed, calls_refuse_closed_schedulers_and_ports)
{
    struct locus_table tables[1 + LOCUS_SCHEDULER_TABLES] = {{.rows = ROWS, .length = 1}};
    struct locus_scheduler_config c;
    locus_scheduler *scheduler;
    locus_port *port, *none;
    locus_scheduler_config_init(&c);
    c.first = ROWS;
    CHECK_EQ(locus_scheduler_tables(&c, tables + 1), 0);
    locus *n = node_of(tables, 1 + LOCUS_SCHEDULER_TABLES, 2, 1);
    locus_worker *w = worker_of(n);
    CHECK_EQ(locus_scheduler_open(n, &c, 0, &scheduler), 0);
    CHECK_EQ(locus_port_open(n, w, &c, 0, &port), 0);
    CHECK_EQ(locus_port_close(port), 0);
    CHECK_EQ(locus_scheduler_close(scheduler), 0);
    refuses_port(port, -EINVAL, "the port is closed");
    REFUSED(locus_scheduler_close(scheduler), -EINVAL, "the scheduler is closed");
    CHECK_EQ(locus_worker_close(w), 0);
    REFUSED(locus_port_open(n, w, &c, 0, &none), -EINVAL, "worker 0 is closed");
    REFUSED(locus_port_open(n, NULL, &c, 0, &none), -EINVAL, "the worker is NULL");
    CHECK_EQ(locus_close(n), 0);
    REFUSED(locus_port_open(n, w, &c, 0, &none), -EINVAL, "the node is closed");
    REFUSED(locus_scheduler_open(n, &c, 0, &scheduler), -EINVAL, "the node is closed");
    refuses_port(port, -EINVAL, "the port is closed");
}

/* ---- a child ---- */

TEST_WITH(closed, calls_refuse_a_forked_child, scene, s)
{
    int status;
    const locus_key key = 1;
    float row[LENGTH] = {1, 2, 3};
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        static const char why[] = "a child may not use it";
        alarm(60);
        refuses_accesses(s->worker, -EPERM, why);
        refuses_the_rest(s->worker, s->distribution, -EPERM, why);
        refuses_node(s->node, -EPERM, why);
        REFUSED(locus_loader_intent(s->loader, &key, 1, 1, 2), -EPERM, why);
        REFUSED(locus_loader_close(s->loader), -EPERM, why);
        REFUSED(locus_worker_close(s->worker), -EPERM, why);
        REFUSED(locus_close(s->node), -EPERM, why);
        CHECK_EQ(locus_keys(s->node), ROWS);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(locus_push(s->worker, &key, 1, row), 0); /* the parent goes on */
}
