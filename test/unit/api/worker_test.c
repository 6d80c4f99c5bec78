/* Workers and loaders, mostly on a cluster of one: opening, closing, and what all calls refuse. */
#include "cluster/nodes.h"
#include "worker/node.h"
#include "pair.h"

#include <math.h>
#include <pthread.h>

/* ---- opening and closing ---- */

TEST(worker, open_gives_the_lowest_free_id)
{
    locus *n = one_node(4, 1, 3);
    locus_worker *w[3], *more = (locus_worker *)(void *)n;
    for (int i = 0; i < 3; i++) {
        w[i] = worker_of(n);
        CHECK_EQ(locus_worker_id(w[i]), i);
    }
    CHECK_EQ(locus_worker_open(n, &more), -EBUSY);
    CHECK(more == NULL);
    CHECK_STR(locus_error(), "all 3 workers");
    CHECK_EQ(locus_worker_close(w[1]), 0);
    w[1] = worker_of(n);
    CHECK_EQ(locus_worker_id(w[1]), 1);
    for (int i = 0; i < 3; i++) CHECK_EQ(locus_worker_close(w[i]), 0);
    CHECK_EQ(locus_close(n), 0);
}

TEST_ON_NODE(worker, open_again_starts_at_clock_zero, 4, 1)
{
    const locus_key key = 2;
    float row = 5;
    CHECK_EQ(locus_set(w, &key, 1, &row), 0);
    for (int i = 1; i <= 10; i++) CHECK_EQ(locus_advance_clock(w), i);
    CHECK_EQ(locus_intent(w, &key, 1, 1000, 1001), 0);
    for (int round = 0; round < 100; round++) {
        CHECK_EQ(locus_worker_close(w), 0);
        w = worker_of(n);
        CHECK_EQ(locus_current_clock(w), 0);
        CHECK_EQ(locus_advance_clock(w), 1);
        CHECK_EQ(locus_pull(w, &key, 1, &row), 0);
        CHECK(row == 5); /* rows belong to the node */
    }
}

TEST_ON_NODE(worker, sum_refuses_more_than_its_limit, 4, 1)
{
    double values[LOCUS_SUM_MAX + 1] = {0.1, -INFINITY};
    CHECK_EQ(locus_sum(w, values, LOCUS_SUM_MAX), 0);
    CHECK(values[0] == 0.1 && isinf(values[1])); /* alone */
    CHECK_EQ(locus_sum(w, NULL, 0), 0);
    REFUSED(locus_sum(w, values, LOCUS_SUM_MAX + 1), -EINVAL,
            "locus_sum: n is 65: must be at most 64");
    REFUSED(locus_sum(w, NULL, 1), -EINVAL, "locus_sum");
    CHECK_EQ(locus_meet(w, values, 2), 0); /* which is a sum where nobody joins, */
    CHECK(values[0] == 0.1 && isinf(values[1]));
    CHECK_EQ(locus_meet(w, NULL, 0), 0); /*   or a barrier */
    REFUSED(locus_meet(w, NULL, 1), -EINVAL, "locus_meet: `values` is NULL");
}

/* Of workers and nodes that are NULL: closed_test.c. */
TEST_ON_NODE(worker, calls_refuse_null_arrays_and_results, 4, 1)
{
    const locus_key key = 1;
    float row = 0;
    locus_ticket t;
    REFUSED(locus_worker_open(n, NULL), -EINVAL, "locus_worker_open");
    REFUSED(locus_pull(w, NULL, 1, &row), -EINVAL, "locus_pull: `keys` is NULL for 1 keys");
    REFUSED(locus_pull(w, &key, 1, NULL), -EINVAL, "`values` is NULL for 1 keys");
    REFUSED(locus_push(w, NULL, 3, &row), -EINVAL, "3 keys");
    REFUSED(locus_push(w, &key, 1, NULL), -EINVAL, "`updates` is NULL");
    REFUSED(locus_set(w, NULL, 1, &row), -EINVAL, "locus_set: `keys` is NULL");
    REFUSED(locus_set(w, &key, 1, NULL), -EINVAL, "locus_set");
    REFUSED(locus_pull_async(w, &key, 1, &row, NULL), -EINVAL, "ticket");
    REFUSED(locus_push_async(w, &key, 1, &row, NULL), -EINVAL, "ticket");
    REFUSED(locus_set_async(w, &key, 1, &row, NULL), -EINVAL, "ticket");
    REFUSED(locus_localize_async(w, &key, 1, NULL), -EINVAL, "ticket");
    REFUSED(locus_pull_local(w, 1, NULL), -EINVAL, "locus_pull_local");
    REFUSED(locus_change_local(w, 1, NULL, NULL), -EINVAL, "`change` is NULL");
    REFUSED(locus_intent(w, NULL, 1, 0, 1), -EINVAL, "locus_intent");
    REFUSED(locus_localize(w, NULL, 1), -EINVAL, "locus_localize");
    REFUSED(locus_loader_open(w, NULL), -EINVAL, "locus_loader_open");
    CHECK_EQ(locus_worker_close(NULL) | locus_loader_close(NULL), 0);
    locus_prefetch(w, NULL, 1);
    CHECK_EQ(locus_pull(w, &key, 1, &row), 0);
    CHECK(row == 0); /* none of these wrote anything */

    CHECK_EQ(locus_pull(w, NULL, 0, NULL), 0); /* no keys are no work */
    CHECK_EQ(locus_push(w, NULL, 0, NULL) | locus_set(w, NULL, 0, NULL), 0);
    CHECK_EQ(locus_pull_async(w, NULL, 0, NULL, &t) | (int)t, 0);
    CHECK_EQ(locus_push_async(w, NULL, 0, NULL, &t) | (int)t, 0);
    CHECK_EQ(locus_set_async(w, NULL, 0, NULL, &t) | (int)t, 0);
    CHECK_EQ(locus_localize_async(w, NULL, 0, &t) | (int)t, 0);
    CHECK_EQ(locus_intent(w, NULL, 0, 0, 1) | locus_localize(w, NULL, 0), 0);
    locus_prefetch(w, NULL, 0);
    CHECK_EQ(stats_of(n).pulled_local, 1);
    CHECK_EQ(stats_of(n).pushed_local + stats_of(n).intents_signaled, 0);
}

/* ---- loaders ---- */

TEST_ON_NODE(worker, close_refuses_a_worker_with_open_loaders, 10, 1)
{
    locus_loader *a, *b;
    CHECK_EQ(locus_loader_open(w, &a), 0);
    CHECK_EQ(locus_loader_open(w, &b), 0);
    REFUSED(locus_worker_close(w), -EBUSY, "2 loaders of worker 0");
    CHECK_EQ(locus_loader_close(a), 0);
    REFUSED(locus_worker_close(w), -EBUSY, "1 loaders");
    CHECK_EQ(locus_advance_clock(w), 1); /* it still works */
    CHECK_EQ(locus_loader_close(b), 0);
}

enum { LOADERS = 4, BATCHES = 3000, TRAINED_KEYS = 100, PUSHES = BATCHES / TRAINED_KEYS };

/* Prepares every LOADERS-th batch: signals it ahead, from any clock of the worker. */
struct loading {
    locus_worker *worker;
    unsigned number;
    pthread_t thread;
};

static void *load(void *argument)
{
    struct loading *l = argument;
    locus_loader *loader;
    locus_clock last = 0;
    CHECK_EQ(locus_loader_open(l->worker, &loader), 0);
    for (unsigned batch = l->number; batch < BATCHES; batch += LOADERS) {
        const locus_key keys[] = {batch % 100, batch % 37};
        locus_clock now = locus_current_clock(l->worker);
        CHECK(now >= last); /* a clock does not go back */
        last = now;
        CHECK_EQ(locus_loader_intent(loader, keys, 2, now + 1 + batch % 5, now + 10), 0);
    }
    CHECK_EQ(locus_loader_close(loader), 0);
    return NULL;
}

TEST_ON_NODE(worker, loaders_signal_while_the_worker_trains, 100, 4)
{
    struct loading l[LOADERS];
    const float ones[4] = {1, 1, 1, 1};
    float row[4];
    for (unsigned i = 0; i < LOADERS; i++) {
        l[i] = (struct loading){.worker = w, .number = i};
        CHECK_EQ(pthread_create(&l[i].thread, NULL, load, &l[i]), 0);
    }
    for (locus_key step = 0; step < BATCHES; step++) {
        const locus_key key = step % TRAINED_KEYS;
        CHECK_EQ(locus_push(w, &key, 1, ones), 0);
        CHECK_EQ(locus_advance_clock(w), step + 1);
    }
    for (unsigned i = 0; i < LOADERS; i++) CHECK_EQ(pthread_join(l[i].thread, NULL), 0);
    CHECK_EQ(stats_of(n).intents_signaled, 2 * BATCHES);
    for (locus_key k = 0; k < TRAINED_KEYS; k++) {
        CHECK_EQ(locus_pull(w, &k, 1, row), 0);
        CHECK(row[0] == PUSHES && row[3] == PUSHES);
    }
    for (int i = 0; i < 20; i++) locus_advance_clock(w);
}

/* ---- closing while others go on ---- */

struct pushing {
    locus_worker *worker;
    locus_key key;
    bool ends; /* atomic */
};

static void *push_on(void *argument)
{
    struct pushing *p = argument;
    const float zero = 0;
    while (!__atomic_load_n(&p->ends, __ATOMIC_RELAXED))
        CHECK_EQ(locus_push(p->worker, &p->key, 1, &zero), 0);
    return NULL;
}

TEST(worker, close_flushes_updates_while_others_push)
{
    const struct locus_table table = {.rows = 10, .length = 1};
    const float one = 1;
    float row = 0;
    pthread_t thread;
    CLOSED_BY(pair_end) struct pair p;
    pair_init(&p, &table, 1);
    p.config.technique = LOCUS_REPLICATE;
    p.config.workers = 2;
    pair_open(&p);
    struct pushing other = {.worker = worker_of(p.node[0]), .key = pair_key_of(&p, 1, 0)};
    CHECK_EQ(locus_intent(other.worker, &other.key, 1, 0, 1000), 0);
    while (stats_of(p.node[0]).replicas_now == 0) sleep_s(0.001);
    CHECK_EQ(pthread_create(&thread, NULL, push_on, &other), 0);
    CHECK_EQ(locus_push(p.worker[0], &other.key, 1, &one), 0);
    CHECK_EQ(locus_worker_close(p.worker[0]), 0);
    CHECK_EQ(locus_pull(p.worker[1], &other.key, 1, &row), 0);
    CHECK(row == 1);
    __atomic_store_n(&other.ends, true, __ATOMIC_RELAXED);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(locus_worker_close(other.worker), 0);
    p.worker[0] = NULL;
}
