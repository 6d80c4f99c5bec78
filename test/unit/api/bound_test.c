/* bound: a worker waits for the others' clocks, and then sees what they did before them. */
#include "cluster/nodes.h"
#include "worker/node.h"

#include "pair.h"

#include <pthread.h>
#include <sched.h>

enum { ROWS = 40, BOUND_ROUNDS = 50 };

TEST_ON_NODE(bound, refuses_wrong_arguments, ROWS, 1)
{
    REFUSED(locus_bound(w, -1), -EINVAL,
            "locus_bound: the staleness is -1 clocks: must be 0 or more");
    locus_read_begin(w);
    CHECK_EQ(locus_bound(w, 0), -EDEADLK);
    locus_read_end(w);
    CHECK_EQ(stats_of(n).bounds_waited, 0);
}

/* ---- one node ---- */

struct lagging {
    locus_worker *worker;
    locus_clock to;
    bool has_returned; /* atomic */
    locus_clock staleness;
    pthread_t thread;
};

static void *wait_for_others(void *argument)
{
    struct lagging *l = argument;
    CHECK_EQ(locus_bound(l->worker, l->staleness), 0);
    __atomic_store_n(&l->has_returned, true, __ATOMIC_RELEASE);
    return NULL;
}

static void advance_to(locus_worker *w, locus_clock clock)
{
    while (locus_current_clock(w) < clock) locus_advance_clock(w);
}

TEST(bound, waits_until_other_workers_are_within_staleness)
{
    locus *n = one_node(ROWS, 1, 2);
    struct lagging fast = {.worker = worker_of(n), .staleness = 3};
    locus_worker *slow = worker_of(n);
    advance_to(fast.worker, 10);
    advance_to(slow, 6);
    CHECK_EQ(pthread_create(&fast.thread, NULL, wait_for_others, &fast), 0);
    for (int i = 0; i < 100; i++) sched_yield();
    CHECK(!__atomic_load_n(&fast.has_returned, __ATOMIC_ACQUIRE));
    advance_to(slow, 7);
    CHECK_EQ(pthread_join(fast.thread, NULL), 0);
    CHECK_EQ(locus_bound(slow, 0), 0); /* who is last waits for nobody */
    CHECK_EQ(locus_bound(fast.worker, 3), 0);
    CHECK_EQ(locus_worker_close(slow), 0);
    CHECK_EQ(locus_bound(fast.worker, 0), 0); /* who has closed holds nobody up */
    CHECK_EQ(locus_bound(fast.worker, INT64_MAX), 0);
    close_both(n, fast.worker);
}

/* Of workers at 5 and 8 one closes, and opens again: until it has passed 5 nobody waits for it. */
TEST(bound, waits_for_a_worker_that_opened_again_when_it_has_passed_what_was_reported)
{
    locus *n = one_node(ROWS, 1, 2);
    struct lagging fast = {.worker = worker_of(n)};
    locus_worker *again = worker_of(n);
    advance_to(fast.worker, 5);
    advance_to(again, 8);
    CHECK_EQ(locus_worker_close(again), 0);
    again = worker_of(n);
    advance_to(again, 4);
    CHECK_EQ(locus_bound(fast.worker, 0), 0);
    advance_to(again, 5);
    advance_to(fast.worker, 7);
    CHECK_EQ(pthread_create(&fast.thread, NULL, wait_for_others, &fast), 0);
    for (int i = 0; i < 100; i++) sched_yield();
    CHECK(!__atomic_load_n(&fast.has_returned, __ATOMIC_ACQUIRE));
    advance_to(again, 7);
    CHECK_EQ(pthread_join(fast.thread, NULL), 0);
    CHECK_EQ(locus_worker_close(again), 0);
    close_both(n, fast.worker);
}

/* ---- two nodes ---- */

/* Each pushes to every row in each clock, and finds at least as much as the bound says. */
static void push_and_look(struct pair *p, int rank)
{
    locus_worker *w = p->worker[rank];
    const locus_clock staleness = *(locus_clock *)p->context;
    locus_key keys[ROWS];
    float ones[ROWS], rows[ROWS];
    for (locus_key key = 0; key < ROWS; key++) {
        keys[key] = key;
        ones[key] = 1;
    }
    CHECK_EQ(locus_intent(w, keys, ROWS / 2, 0, LOCUS_FOREVER), 0);
    for (locus_clock clock = 0; clock < BOUND_ROUNDS; clock++) {
        CHECK_EQ(locus_push(w, keys, ROWS, ones), 0);
        locus_advance_clock(w);
        CHECK_EQ(locus_bound(w, staleness), 0);
        CHECK_EQ(locus_pull(w, keys, ROWS, rows), 0);
        /* ours, and of the other all but of the last clocks */
        float least = 2 * (float)(clock + 1) - (float)staleness;
        for (int i = 0; i < ROWS; i++) CHECK(rows[i] >= least);
    }
}

TEST(bound, updates_older_than_staleness_are_seen)
{
    for (locus_clock staleness = 0; staleness <= 3; staleness += 3) {
        const struct locus_table table = {.rows = ROWS, .length = 1};
        struct pair p;
        pair_init(&p, &table, 1);
        p.config.shards = 2;
        pair_open(&p);
        p.context = &staleness;
        pair_do(&p, push_and_look);
        uint64_t waited = stats_of(p.node[0]).bounds_waited + stats_of(p.node[1]).bounds_waited;
        CHECK(staleness > 0 || waited > 0);
        pair_end(&p);
    }
}

static void look_at_3(struct pair *p, int rank)
{
    advance_to(p->worker[rank], 3);
    CHECK_EQ(locus_bound(p->worker[rank], 0), 0);
}

/* Node 1 closes its worker at 3, and opens it again when node 0 has come to 6: from 3 on it is waited
 * for. */
TEST(bound, waits_for_the_only_worker_of_a_node_that_opened_again)
{
    const struct locus_table table = {.rows = ROWS, .length = 1};
    struct pair p;
    pair_init(&p, &table, 1);
    pair_open(&p);
    pair_do(&p, look_at_3);
    struct lagging fast = {.worker = p.worker[0]};
    CHECK_EQ(locus_worker_close(p.worker[1]), 0);
    advance_to(fast.worker, 6);
    CHECK_EQ(locus_bound(fast.worker, 0), 0);
    p.worker[1] = worker_of(p.node[1]);
    advance_to(p.worker[1], 2);
    advance_to(fast.worker, 8);
    CHECK_EQ(locus_bound(fast.worker, 0), 0);
    advance_to(p.worker[1], 3);
    advance_to(fast.worker, 20);
    CHECK_EQ(pthread_create(&fast.thread, NULL, wait_for_others, &fast), 0);
    sleep_s(0.1);
    CHECK(!__atomic_load_n(&fast.has_returned, __ATOMIC_ACQUIRE));
    advance_to(p.worker[1], 20);
    CHECK_EQ(pthread_join(fast.thread, NULL), 0);
    pair_end(&p);
}
