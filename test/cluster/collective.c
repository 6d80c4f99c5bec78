/* Collectives: all workers of all nodes meet, also those that come late, closed, or come again. */
#include "team.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static const struct locus_table table = {.rows = 200, .length = 3};

static struct team team_of(int nodes, unsigned workers, void *shared)
{
    return (struct team){.nodes = nodes,
                         .workers = workers,
                         .shards = 2,
                         .tables = &table,
                         .table_count = 1,
                         .shared = shared};
}

/* What the seats of one process count together. */
static void count(int *counter)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
}

static int counted(const int *counter)
{
    return __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

/* ---- barriers ---- */

enum { ROUNDS = 100 };

static void meet_often(struct seat *s)
{
    int *arrived = s->team->shared;
    for (int round = 0; round < ROUNDS; round++) {
        count(&arrived[round]);
        if (round % 3 == 2)
            CHECK_EQ(locus_quiesce(s->worker), 0);
        else
            seat_barrier(s);
        CHECK_EQ(counted(&arrived[round]), s->seats);
    }
}

TEST(collective, nobody_leaves_a_barrier_before_all_have_come)
{
    int arrived[2][ROUNDS] = {0};
    struct team two = team_of(2, 2, arrived[0]), four = team_of(4, 3, arrived[1]);
    team_run(&two, meet_often);
    team_run(&four, meet_often);
}

/* ---- those who are late ---- */

struct late {
    locus *node;
    int opened;
    int released;
};

static void *wait_at_barrier(void *argument)
{
    struct late *l = argument;
    locus_worker *w = worker_of(l->node);
    CHECK_EQ(locus_barrier(w), 0);
    CHECK_EQ(counted(&l->opened), 1);
    count(&l->released);
    CHECK_EQ(locus_worker_close(w), 0);
    return NULL;
}

TEST(collective, a_worker_that_opens_late_is_waited_for)
{
    struct team t = team_of(2, 2, NULL);
    locus *node[2];
    pthread_t thread[3];
    team_open_all(&t, node);
    struct late l[2] = {{.node = node[0]}, {.node = node[1]}};
    for (int i = 0; i < 3; i++) pthread_create(&thread[i], NULL, wait_at_barrier, &l[i / 2]);
    sleep_s(0.3);
    CHECK_EQ(counted(&l[0].released) + counted(&l[1].released), 0);
    count(&l[0].opened);
    count(&l[1].opened);
    locus_worker *last = worker_of(node[1]);
    CHECK_EQ(locus_barrier(last), 0);
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
    CHECK_EQ(locus_worker_close(last), 0);
    team_close_all(2, node);
}

/* ---- those who have closed ---- */

/* The worker with id 0 of each node goes on alone. */
static void meet_in_dwindling_numbers(struct seat *s)
{
    int *arrived = s->team->shared;
    for (int round = 0; round < ROUNDS; round++) {
        if (s->id > 0 && round == 10 * s->number) return;
        if (s->id == 0) count(&arrived[round]);
        seat_barrier(s);
        CHECK_EQ(counted(&arrived[round]), s->team->nodes);
    }
}

TEST(collective, workers_that_closed_count_as_arrived)
{
    int arrived[ROUNDS] = {0};
    struct team t = team_of(2, 3, arrived);
    team_run(&t, meet_in_dwindling_numbers);
}

static void *meet_twenty_times(void *argument)
{
    for (int i = 0; i < 20; i++) CHECK_EQ(locus_barrier(argument), 0);
    return NULL;
}

/* Also those of rank 0, and all of a node; a node whose worker opens again takes part again. */
static void check_node_without_workers(int without)
{
    struct team t = team_of(3, 1, NULL);
    locus *node[3];
    locus_worker *w[3];
    pthread_t thread[3];
    team_open_all(&t, node);
    for (int i = 0; i < 3; i++) w[i] = worker_of(node[i]);
    for (int i = 0; i < 3; i++) pthread_create(&thread[i], NULL, meet_twenty_times, w[i]);
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);

    CHECK_EQ(locus_worker_close(w[without]), 0);
    for (int i = 0; i < 3; i++)
        if (i != without) pthread_create(&thread[i], NULL, meet_twenty_times, w[i]);
    for (int i = 0; i < 3; i++)
        if (i != without) pthread_join(thread[i], NULL);

    w[without] = worker_of(node[without]);
    for (int i = 0; i < 3; i++) pthread_create(&thread[i], NULL, meet_twenty_times, w[i]);
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 3; i++) CHECK_EQ(locus_worker_close(w[i]), 0);
    team_close_all(3, node);
}

TEST(collective, a_node_whose_workers_have_all_closed_counts_as_arrived)
{
    check_node_without_workers(2);
    check_node_without_workers(0);
}

struct waiting {
    locus_worker *worker;
    int released;
};

static void *wait_once(void *argument)
{
    struct waiting *w = argument;
    CHECK_EQ(locus_barrier(w->worker), 0);
    count(&w->released);
    return NULL;
}

TEST(collective, closing_the_last_worker_of_a_node_releases_those_who_wait)
{
    struct team t = team_of(2, 1, NULL);
    locus *node[2];
    pthread_t thread;
    team_open_all(&t, node);
    locus_worker *other = worker_of(node[1]);
    struct waiting w = {.worker = worker_of(node[0])};
    pthread_create(&thread, NULL, wait_once, &w);
    sleep_s(0.2);
    CHECK_EQ(counted(&w.released), 0);
    CHECK_EQ(locus_worker_close(other), 0);
    pthread_join(thread, NULL);
    CHECK_EQ(locus_worker_close(w.worker), 0);
    team_close_all(2, node);
}

/* ---- quiesce ---- */

/* Updates under way are everywhere afterwards: nobody waits for its own before. */
static void push_and_quiesce(struct seat *s)
{
    enum { PUSHES = 50 };
    struct batch all = batch_of_all(s->node);
    float *read = calloc(all.floats, sizeof *read);
    locus_ticket t;
    CHECK(read != NULL);
    for (size_t i = 0; i < all.floats; i++) all.values[i] = (float)(1 + i % 3);
    for (int round = 1; round <= 10; round++) {
        for (int i = 0; i < PUSHES; i++)
            CHECK_EQ(locus_push_async(s->worker, all.keys, all.n, all.values, &t), 0);
        CHECK_EQ(locus_quiesce(s->worker), 0);
        CHECK(locus_done(s->worker, t));
        CHECK_EQ(locus_pull(s->worker, all.keys, all.n, read), 0);
        for (size_t i = 0; i < all.floats; i++)
            CHECK(read[i] == (float)(round * PUSHES * s->seats) * all.values[i]);
        CHECK_EQ(locus_quiesce(s->worker), 0);
    }
    free(read);
    batch_free(&all);
}

TEST(collective, after_a_quiesce_every_update_is_everywhere)
{
    struct team two = team_of(2, 2, NULL), three = team_of(3, 1, NULL);
    team_run(&two, push_and_quiesce);
    team_run(&three, push_and_quiesce);
}

/* One worker of each node quiesces all the time, others open, push, quiesce and close, whenever
 * that is. */
enum { NODES_OF_TWO = 2 };

struct coming {
    locus *node;
    int visits;
    int *pushes, *gone; /* of all nodes */
};

static const locus_key visited = 7;

static void *quiesce_until_all_have_gone(void *argument)
{
    struct coming *c = argument;
    locus_worker *w = worker_of(c->node);
    while (counted(c->gone) < NODES_OF_TWO) CHECK_EQ(locus_quiesce(w), 0);
    CHECK_EQ(locus_worker_close(w), 0);
    return NULL;
}

static void *come_and_go(void *argument)
{
    struct coming *c = argument;
    const float one[3] = {1, 1, 1};
    float row[3];
    for (int i = 0; i < c->visits; i++) {
        locus_worker *w = worker_of(c->node);
        CHECK_EQ(locus_intent(w, &visited, 1, 0, 1), 0);
        CHECK_EQ(locus_push(w, &visited, 1, one), 0);
        count(c->pushes);
        CHECK_EQ(locus_quiesce(w), 0);
        CHECK_EQ(locus_pull(w, &visited, 1, row), 0);
        CHECK(row[0] >= (float)(i + 1)); /* our own, at least */
        CHECK_EQ(locus_worker_close(w), 0);
    }
    count(c->gone);
    return NULL;
}

TEST(collective, workers_come_and_go_while_others_quiesce)
{
    struct team t = team_of(NODES_OF_TWO, 2, NULL);
    locus *node[NODES_OF_TWO];
    pthread_t stays[NODES_OF_TWO], goes[NODES_OF_TWO];
    int gone = 0, pushes = 0;
    float row[3];
    t.is_managed = true;
    t.technique = LOCUS_ADAPTIVE;
    team_open_all(&t, node);
    struct coming c[NODES_OF_TWO];
    for (int i = 0; i < NODES_OF_TWO; i++) {
        c[i] = (struct coming){node[i], 30 * test_seconds(), &pushes, &gone};
        pthread_create(&stays[i], NULL, quiesce_until_all_have_gone, &c[i]);
        pthread_create(&goes[i], NULL, come_and_go, &c[i]);
    }
    for (int i = 0; i < NODES_OF_TWO; i++) {
        pthread_join(stays[i], NULL);
        pthread_join(goes[i], NULL);
    }
    locus_worker *w = worker_of(node[0]);
    CHECK_EQ(locus_pull(w, &visited, 1, row), 0);
    CHECK(row[0] == (float)pushes);
    CHECK_EQ(locus_worker_close(w), 0);
    team_close_all(NODES_OF_TWO, node);
}

/* Two workers of one node call different collectives: the second one is refused, and then joins the
 * first. */
struct dispute {
    locus_worker *worker;
    int (*first)(locus_worker *), (*then)(locus_worker *);
    int (**agreed)(locus_worker *);
};

static void *meet_after_dispute(void *argument)
{
    struct dispute *d = argument;
    int rc = d->first(d->worker);
    if (rc == -EINVAL) {
        CHECK_STR(locus_error(), d->first == locus_barrier ? "quiesce" : "barrier");
        __atomic_store_n(d->agreed, d->then, __ATOMIC_SEQ_CST);
        rc = d->then(d->worker);
    }
    CHECK_EQ(rc, 0);
    return NULL;
}

TEST(collective, a_worker_in_another_collective_than_its_node_is_refused)
{
    struct team t = team_of(2, 2, NULL);
    locus *node[2];
    pthread_t thread[4];
    int (*agreed)(locus_worker *) = NULL;
    struct dispute d[4];
    team_open_all(&t, node);
    for (int i = 0; i < 4; i++)
        d[i] = (struct dispute){worker_of(node[i / 2]), locus_barrier, locus_quiesce, &agreed};
    d[3].first = locus_quiesce;
    d[3].then = locus_barrier;
    for (int i = 2; i < 4; i++) pthread_create(&thread[i], NULL, meet_after_dispute, &d[i]);
    while (!__atomic_load_n(&agreed, __ATOMIC_SEQ_CST)) sleep_s(0.001);
    for (int i = 0; i < 2; i++) {
        d[i].first = agreed;
        pthread_create(&thread[i], NULL, meet_after_dispute, &d[i]);
    }
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 4; i++) CHECK_EQ(locus_worker_close(d[i].worker), 0);
    team_close_all(2, node);
}

/* ---- closing ---- */

TEST(collective, a_node_with_open_workers_is_not_closed)
{
    struct team t = team_of(2, 2, NULL);
    locus *node[2];
    team_open_all(&t, node);
    locus_worker *w = worker_of(node[1]);
    CHECK_EQ(locus_close(node[1]), -EBUSY);
    CHECK_STR(locus_error(), "1 of 2 workers");
    CHECK_EQ(locus_set(w, (locus_key[]){0, 199}, 2, (float[6]){1, 2, 3, 4, 5, 6}), 0);
    CHECK_EQ(locus_worker_close(w), 0);
    team_close_all(2, node);
}

/* Closing is collective: who closes early goes on serving the others. */
static void serve_while_closing(struct seat *s)
{
    float sum = 0, row[3], one[3] = {1, 1, 1};
    locus_key key;
    if (s->rank != 1) return;
    sleep_s(0.3);
    CHECK_EQ(s->id, 0);
    for (key = 0; key < table.rows; key++) CHECK_EQ(locus_push(s->worker, &key, 1, one), 0);
    for (key = 0; key < table.rows; key++) {
        CHECK_EQ(locus_pull(s->worker, &key, 1, row), 0);
        sum += row[2];
    }
    CHECK(sum == (float)table.rows);
    seat_barrier(s);
}

TEST(collective, nodes_that_close_serve_those_who_still_work)
{
    struct team t = team_of(3, 1, NULL);
    team_run(&t, serve_while_closing);
}
