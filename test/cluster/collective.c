/* Collectives of several nodes whose workers come and go. Which workers of a node meet, and when, is
 * in unit/cluster/collective_test.c, what nodes agree on in unit/cluster/rendezvous_test.c. */
#include "team.h"

#include <errno.h>
#include <pthread.h>

static const struct locus_table table = {.rows = 200, .length = 3};

#define TEAM(nodes, workers) TEAM_OF(nodes, workers, 2, LOCUS_STATIC, &table, 1)

/* What the seats of one process count together. */
static void count(int *counter)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
}

static int counted(const int *counter)
{
    return __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

/* ---- sums ---- */

enum { ROUNDS = 100 };

/* In another order these have another sum. */
static double large_first(int number)
{
    return number == 0 ? 0x1p53 : 1;
}

static double sum_in_order(const struct team *t)
{
    double sum = 0;
    for (int rank = 0, number = 0; rank < t->nodes; rank++) {
        double own = 0;
        for (unsigned i = 0; i < t->workers; i++) own += large_first(number++);
        sum += own;
    }
    return sum;
}

static void sum_often(struct seat *s)
{
    for (int round = 0; round < ROUNDS; round++) {
        double sums[] = {1, s->number, large_first(s->number)};
        CHECK_EQ(locus_sum(s->worker, sums, 3), 0);
        CHECK(sums[0] == s->seats && sums[1] == (double)s->seats * (s->seats - 1) / 2);
        CHECK(sums[2] == sum_in_order(s->team));
    }
}

TEST(collective, sum_is_of_all_workers_in_one_order)
{
    team_run(&(struct team){TEAM(2, 2)}, sum_often);
    team_run(&(struct team){TEAM(4, 3)}, sum_often);
}

TEST_SEATS(collective, sum_of_other_counts_is_refused_on_all_nodes, s, TEAM(2, 1))
{
    double sums[LOCUS_SUM_MAX] = {1};
    CHECK_EQ(locus_sum(s->worker, sums, s->number == 0 ? 2 : 3), -EINVAL);
    CHECK_STR(locus_error(), "locus_sum of 2 values");
    CHECK_STR(locus_error(), "locus_sum of 3 values");
    CHECK(sums[0] == 1);
    CHECK_EQ(locus_sum(s->worker, sums, LOCUS_SUM_MAX), 0);
    CHECK(sums[0] == 2);
}

/* ---- quiesce ---- */

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

TEST(collective, quiesce_while_workers_open_and_close)
{
    struct team t = {TEAM(NODES_OF_TWO, 2)};
    locus *node[NODES_OF_TWO];
    pthread_t stays[NODES_OF_TWO], goes[NODES_OF_TWO];
    int gone = 0, pushes = 0;
    float row[3];
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

/* ---- closing ---- */

/* Closing is collective: who closes early goes on serving the others. */
TEST_SEATS(collective, close_serves_nodes_that_still_work, s, TEAM(3, 1))
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
