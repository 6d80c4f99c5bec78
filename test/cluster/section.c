/* What a node knows without asking others: read sections and views. */
#include "team.h"

#include <errno.h>
#include <string.h>

enum { NODES = 3, KEYS = 3000, LENGTH = 4 };
static const struct locus_table table = {.rows = KEYS, .length = LENGTH};
static struct team team = {TEAM_OF(NODES, 1, 2, LOCUS_STATIC, &table, 1)};

struct cluster {
    locus *node[NODES];
    locus_worker *worker[NODES];
    locus_key of[NODES]; /* a key that node owns */
};

static struct cluster cluster_open(void)
{
    struct cluster c = {0};
    team_open_all(&team, c.node);
    for (int i = 0; i < NODES; i++) {
        c.worker[i] = worker_of(c.node[i]);
        CHECK_EQ(locus_owned(c.node[i], 0, &c.of[i], 1), 1);
    }
    return c;
}

static void cluster_close(struct cluster *c)
{
    for (int i = 0; i < NODES; i++) CHECK_EQ(locus_worker_close(c->worker[i]), 0);
    team_close_all(NODES, c->node);
}

/* ---- read sections ---- */

TEST(section, call_that_would_wait_is_refused_and_does_nothing)
{
    CLOSED_BY(cluster_close) struct cluster c = cluster_open();
    const locus_key keys[2] = {c.of[0], c.of[1]}; /* here, there */
    const float ones[2 * LENGTH] = {1, 1, 1, 1, 1, 1, 1, 1};
    float row[2 * LENGTH];
    locus_read_begin(c.worker[0]);
    memset(row, 0xff, sizeof row);
    CHECK_EQ(locus_pull(c.worker[0], keys, 2, row), -EDEADLK);
    CHECK_STR(locus_error(), "read section");
    for (int i = 0; i < 2 * LENGTH; i++) CHECK(row[i] != row[i]); /* as it was: not a number */
    CHECK_EQ(locus_push(c.worker[0], keys, 2, ones), -EDEADLK);
    CHECK_EQ(locus_set(c.worker[0], keys, 2, ones), -EDEADLK);
    CHECK_EQ(locus_push(c.worker[0], &keys[1], 1, ones), -EDEADLK);
    CHECK_EQ(locus_barrier(c.worker[0]), -EDEADLK);
    CHECK_EQ(locus_quiesce(c.worker[0]), -EDEADLK);
    CHECK_EQ(locus_worker_close(c.worker[0]), -EDEADLK);
    locus_read_end(c.worker[0]);
    CHECK_EQ(locus_pull(c.worker[0], keys, 2, row), 0);
    for (int i = 0; i < 2 * LENGTH; i++) CHECK(row[i] == 0);
}

/* A replica is read and added to in place. The set of one goes by way of its owner: until it is
 * done there is no view, for the replica still has the value before. */
TEST(section, replica_is_not_set_and_has_no_view_while_a_set_is_under_way)
{
    const float ones[LENGTH] = {1, 1, 1, 1};
    float row[LENGTH];
    team.technique = LOCUS_FULL_REPLICATION;
    CLOSED_BY(cluster_close) struct cluster c = cluster_open();
    int seen = 0;
    locus_read_begin(c.worker[0]);
    CHECK_EQ(locus_push(c.worker[0], &c.of[1], 1, ones), 0);
    CHECK_EQ(locus_set(c.worker[0], &c.of[1], 1, ones), -EDEADLK);
    CHECK_STR(locus_error(), "read section");
    CHECK_EQ(locus_pull(c.worker[0], &c.of[1], 1, row), 0);
    CHECK(row[0] == 1);
    locus_read_end(c.worker[0]);
    for (int i = 1; i <= 100; i++) {
        const float values[LENGTH] = {(float)i, (float)i, (float)i, (float)i};
        locus_ticket set;
        CHECK_EQ(locus_set_async(c.worker[0], &c.of[1], 1, values, &set), 0);
        locus_read_begin(c.worker[0]);
        const float *view = locus_view(c.worker[0], c.of[1]);
        CHECK(!view || view[0] == (float)i);
        locus_read_end(c.worker[0]);
        CHECK_EQ(locus_wait(c.worker[0], set), 0);
        locus_read_begin(c.worker[0]);
        view = locus_view(c.worker[0], c.of[1]);
        CHECK(!view || view[0] == (float)i);
        seen += view != NULL;
        locus_read_end(c.worker[0]);
    }
    CHECK(seen > 0);
}

/* Nothing waits when the operation is only handed over; it may be waited for behind the section. */
TEST(section, async_call_is_made_inside_and_waited_for_outside)
{
    CLOSED_BY(cluster_close) struct cluster c = cluster_open();
    const float ones[LENGTH] = {1, 1, 1, 1};
    float row[LENGTH] = {0};
    locus_ticket push, pull;
    locus_read_begin(c.worker[0]);
    CHECK_EQ(locus_push_async(c.worker[0], &c.of[1], 1, ones, &push), 0);
    CHECK_EQ(locus_pull_async(c.worker[0], &c.of[1], 1, row, &pull), 0);
    int rc = locus_wait(c.worker[0], pull);
    CHECK(rc == 0 || rc == -EDEADLK); /* it may be done by now */
    locus_read_end(c.worker[0]);
    CHECK_EQ(locus_wait(c.worker[0], pull), 0);
    CHECK_EQ(locus_wait_all(c.worker[0]), 0);
    CHECK(row[0] == 1);
}

/* ---- rows that leave in the middle of a call ---- */

enum { CONTESTED = 400 };

struct contest {
    int over;
    uint64_t pushes; /* that succeeded, of all keys each */
};

static void localize_some(struct seat *s, const locus_key *keys)
{
    unsigned from = seat_random(s, CONTESTED);
    CHECK_EQ(locus_localize(s->worker, keys + from, CONTESTED - from), 0);
}

/* Pulls are served here or refused. Pushes count whole or not at all; what is pulled next has
 * them. */
static void access_in_sections(struct seat *s, const locus_key *keys, struct contest *c)
{
    static float row[CONTESTED * LENGTH], ones[CONTESTED * LENGTH];
    unsigned pulled = 0, refused = 0;
    for (int i = 0; i < CONTESTED * LENGTH; i++) ones[i] = 1;
    for (double end = now_s() + 60; (pulled < 200 || refused < 200) && now_s() < end;) {
        CHECK_EQ(locus_localize(s->worker, keys, CONTESTED), 0);
        locus_read_begin(s->worker);
        int rc = locus_push(s->worker, keys, CONTESTED, ones);
        CHECK(rc == 0 || rc == -EDEADLK);
        c->pushes += rc == 0;
        int read = locus_pull(s->worker, keys, CONTESTED, row);
        CHECK(read == 0 || read == -EDEADLK);
        for (int k = 0; read == 0 && k < CONTESTED * LENGTH; k++) CHECK(row[k] == (float)c->pushes);
        pulled += read == 0;
        refused += read == -EDEADLK;
        locus_read_end(s->worker);
    }
    CHECK(pulled > 0);
}

static void contest(struct seat *s)
{
    struct contest *c = s->team->shared;
    locus_key keys[CONTESTED];
    float row[CONTESTED * LENGTH];
    for (locus_key k = 0; k < CONTESTED; k++) keys[k] = k;
    seat_barrier(s);
    if (s->number == 0) {
        access_in_sections(s, keys, c);
        __atomic_store_n(&c->over, 1, __ATOMIC_RELEASE);
        CHECK_EQ(stats_of(s->node).pulled_remote, 0);
    } else {
        while (!__atomic_load_n(&c->over, __ATOMIC_ACQUIRE)) localize_some(s, keys);
    }
    CHECK_EQ(locus_quiesce(s->worker), 0);
    CHECK_EQ(locus_pull(s->worker, keys, CONTESTED, row), 0);
    for (int k = 0; k < CONTESTED * LENGTH; k++) CHECK(row[k] == (float)c->pushes);
}

TEST(section, row_that_leaves_meanwhile_is_not_fetched)
{
    struct contest c = {0};
    const struct team t = {TEAM_OF(2, 1, 2, LOCUS_RELOCATE, &table, 1), .shared = &c};
    team_run(&t, contest);
}

TEST(section, view_and_pull_local_of_rows_elsewhere_are_refused)
{
    CLOSED_BY(cluster_close) struct cluster c = cluster_open();
    float row[LENGTH] = {7};
    for (int i = 0; i < NODES; i++) {
        locus_read_begin(c.worker[i]);
        for (int j = 0; j < NODES; j++)
            CHECK((locus_view(c.worker[i], c.of[j]) != NULL) == (i == j));
        CHECK(locus_view(c.worker[i], KEYS) == NULL);
        locus_read_end(c.worker[i]);
        for (int j = 0; j < NODES; j++)
            CHECK_EQ(locus_pull_local(c.worker[i], c.of[j], row), i == j ? 0 : -EAGAIN);
    }
    CHECK_STR(locus_error(), "not held");
    locus_prefetch(c.worker[0], c.of, NODES);
}
