/*
 * Nodes leave a running job (locus_leave) while the others push, pull, intend and localize: nothing
 * of anybody is lost, no call of the others fails. One that is stopped or killed while it leaves is
 * lost, and the others go on, too.
 *
 * Nodes are processes in the role `leave_node`. In memory that they share each counts the pushes that
 * it has begun, a row: at the end, when all that are left have quiesced, the rows have exactly as
 * much.
 */
#include "team.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NODES_MAX = 4, WORKERS = 2, KEYS = 600, LENGTH = 8, CALL = 20, STEPS = 40 };
static const struct locus_table table = {.rows = KEYS, .length = LENGTH};

struct shared {
    int begun[NODES_MAX][KEYS];      /* atomic */
    int must_leave[NODES_MAX], ends; /* atomic */
    int may_lack;                    /* one was lost: what it did since it was saved is missing */
};

/* ---- a node ---- */

struct node {
    struct team team;
    struct shared *shared;
    locus *handle;
    int rank;
};

struct worker {
    struct node *node;
    pthread_t thread;
    int id;
    unsigned seed;
};

static unsigned draw(struct worker *w, unsigned below)
{
    return (unsigned)rand_r(&w->seed) % below;
}

static bool must_leave(const struct node *n)
{
    return __atomic_load_n(&n->shared->must_leave[n->rank], __ATOMIC_SEQ_CST);
}

static void step(struct worker *w, locus_worker *h)
{
    struct node *n = w->node;
    locus_key keys[CALL];
    float rows[CALL * LENGTH], ones[CALL * LENGTH];
    size_t count = 1 + draw(w, CALL);
    locus_clock now = locus_current_clock(h);
    for (int i = 0; i < CALL * LENGTH; i++) ones[i] = 1;
    for (size_t i = 0; i < count; i++) {
        keys[i] = draw(w, draw(w, 2) ? KEYS : KEYS / 10);
        __atomic_fetch_add(&n->shared->begun[n->rank][keys[i]], 1, __ATOMIC_SEQ_CST);
    }
    unsigned kind = draw(w, 6);
    if (kind < 3) CHECK_EQ(locus_intent(h, keys, count, now, now + 1 + kind), 0);
    if (kind == 3) CHECK_EQ(locus_intent(h, keys, 1, now, LOCUS_FOREVER), 0);
    if (kind == 4 && n->team.technique != LOCUS_REPLICATE)
        CHECK_EQ(locus_localize(h, keys, count), 0);
    CHECK_EQ(locus_push(h, keys, count, ones), 0);
    CHECK_EQ(locus_pull(h, keys, count, rows), 0);
    for (size_t i = 0; i < count * LENGTH; i++) CHECK(rows[i] == rows[i - i % LENGTH]);
    locus_advance_clock(h);
}

static void check_rows(const struct node *n, locus_worker *h)
{
    for (locus_key key = 0; key < KEYS; key++) {
        float row[LENGTH];
        int begun = 0;
        CHECK_EQ(locus_pull(h, &key, 1, row), 0);
        for (int rank = 0; rank < NODES_MAX; rank++) begun += n->shared->begun[rank][key];
        if ((int)row[0] != begun && !n->shared->may_lack)
            test_fail(__FILE__, __LINE__, "node %d: row %d has %g of %d", n->rank, (int)key, row[0],
                      begun);
    }
}

/* Who leaves does so in the middle, and comes to no meeting any more. */
static void *work(void *worker)
{
    struct worker *w = worker;
    struct node *n = w->node;
    locus_worker *h;
    CHECK_EQ(locus_worker_open(n->handle, &h), 0);
    CHECK_EQ(locus_barrier(h), 0);
    if (w->id == 0) parent_tell("ready");
    for (double ends[1] = {0}; !ends[0] && !must_leave(n);) {
        for (int i = 0; i < STEPS && !must_leave(n); i++) step(w, h);
        ends[0] = n->rank == 0 && w->id == 0 && __atomic_load_n(&n->shared->ends, __ATOMIC_SEQ_CST);
        if (must_leave(n)) break;
        CHECK_EQ(locus_quiesce(h), 0);
        CHECK_EQ(locus_sum(h, ends, 1), 0);
    }
    if (!must_leave(n)) {
        CHECK_EQ(locus_quiesce(h), 0);
        check_rows(n, h);
        CHECK_EQ(locus_barrier(h), 0);
    }
    CHECK_EQ(locus_worker_close(h), 0);
    return NULL;
}

ROLE(leave_node)
{
    static struct node n;
    static struct worker w[WORKERS];
    int fd, technique;
    CHECK_EQ(sscanf(arguments, "%d %d %d %d %lf %31s", &fd, &n.team.nodes, &n.rank, &technique,
                    &n.team.peer_timeout_s, n.team.address),
             6);
    n.shared = mmap(NULL, sizeof *n.shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(n.shared != MAP_FAILED);
    n.team.workers = WORKERS;
    n.team.shards = 2;
    n.team.tables = &table;
    n.team.table_count = 1;
    n.team.technique = (enum locus_technique)technique;
    n.team.survives = 1;
    n.handle = team_open(&n.team, n.rank);
    for (int i = 0; i < WORKERS; i++) {
        w[i] = (struct worker){.node = &n, .id = i, .seed = (unsigned)(n.rank * WORKERS + i)};
        CHECK_EQ(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) pthread_join(w[i].thread, NULL);
    bool leaves = must_leave(&n);
    int rc = leaves ? locus_leave(n.handle) : locus_close(n.handle);
    parent_tell("%s %d", leaves ? "left" : "closed", rc);
}

/* ---- a cluster that nodes leave ---- */

struct cluster {
    int nodes;
    struct child child[NODES_MAX];
    struct shared *shared;
    int fd;
};

static void start(struct cluster *c, int nodes, enum locus_technique technique, double timeout_s)
{
    char address[ADDRESS_BYTES];
    address_new(address);
    int file = memfd_create("leave", MFD_CLOEXEC);
    c->nodes = nodes;
    c->fd = fcntl(file, F_DUPFD, 64); /* children inherit it, and have others below */
    CHECK(c->fd >= 0 && ftruncate(c->fd, sizeof *c->shared) == 0);
    close(file);
    c->shared = mmap(NULL, sizeof *c->shared, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
    CHECK(c->shared != MAP_FAILED);
    for (int i = 0; i < nodes; i++)
        child_start(&c->child[i], "leave_node", "%d %d %d %d %g %s", c->fd, nodes, i,
                    (int)technique, timeout_s, address);
    for (int i = 0; i < nodes; i++) child_expect(&c->child[i], "ready");
    sleep_s(0.2);
}

static void must(int *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
}

static void await_left(struct cluster *c, int rank)
{
    child_expect(&c->child[rank], "left 0");
    child_wait(&c->child[rank]);
}

/* Those that are left train on, and end. */
static void finish(struct cluster *c, unsigned gone)
{
    sleep_s(0.3);
    must(&c->shared->ends);
    for (int i = 0; i < c->nodes; i++)
        if (!(gone >> i & 1)) child_expect(&c->child[i], "closed 0");
    for (int i = 0; i < c->nodes; i++)
        if (!(gone >> i & 1)) child_wait(&c->child[i]);
    munmap(c->shared, sizeof *c->shared);
    close(c->fd);
}

static void leave_one(int nodes, enum locus_technique technique)
{
    struct cluster c;
    start(&c, nodes, technique, HANG_S);
    must(&c.shared->must_leave[nodes - 1]);
    await_left(&c, nodes - 1);
    finish(&c, 1u << (nodes - 1));
}

TEST(leave, adaptive)
{
    leave_one(3, LOCUS_ADAPTIVE);
}

TEST(leave, relocate)
{
    leave_one(3, LOCUS_RELOCATE);
}

TEST(leave, replicate)
{
    leave_one(3, LOCUS_REPLICATE);
}

TEST(leave, one_of_two)
{
    leave_one(2, LOCUS_ADAPTIVE);
}

TEST(leave, two_at_once)
{
    struct cluster c;
    start(&c, 4, LOCUS_ADAPTIVE, HANG_S);
    must(&c.shared->must_leave[1]);
    must(&c.shared->must_leave[3]);
    await_left(&c, 1);
    await_left(&c, 3);
    finish(&c, 1u << 1 | 1u << 3);
}

TEST(leave, then_a_loss)
{
    struct cluster c;
    start(&c, 4, LOCUS_ADAPTIVE, HANG_S);
    must(&c.shared->must_leave[1]);
    await_left(&c, 1);
    c.shared->may_lack = 1;
    child_kill(&c.child[2]);
    finish(&c, 1u << 1 | 1u << 2);
}

/* It is killed while it leaves, or before, or behind that. */
TEST(leave, killed_meanwhile)
{
    for (int i = 0; i < 6; i++) {
        struct cluster c;
        start(&c, 3, LOCUS_ADAPTIVE, HANG_S);
        c.shared->may_lack = 1;
        must(&c.shared->must_leave[1]);
        sleep_s(0.002 * i * i);
        child_kill(&c.child[1]);
        finish(&c, 1u << 1);
    }
}

/* Then it finds out that it was given up, if it had not left. */
TEST(leave, stopped_meanwhile)
{
    enum { TIMEOUT_S = 8 };
    struct cluster c;
    start(&c, 3, LOCUS_ADAPTIVE, TIMEOUT_S);
    c.shared->may_lack = 1;
    must(&c.shared->must_leave[1]);
    child_signal(&c.child[1], SIGSTOP);
    finish(&c, 1u << 1);
    child_signal(&c.child[1], SIGKILL);
    child_kill(&c.child[1]);
}

TEST(leave, refused)
{
    struct team team = {TEAM_OF(2, 1, 1, LOCUS_ADAPTIVE, &table, 1)};
    locus *node[2], *alone;
    locus_worker *w;
    team.survives = 1;
    team_open_all(&team, node);
    CHECK_EQ(locus_leave(node[0]), -EINVAL);
    CHECK_STR(locus_error(), "rank 0 cannot leave alone");
    CHECK_EQ(locus_worker_open(node[1], &w), 0);
    CHECK_EQ(locus_leave(node[1]), -EBUSY);
    CHECK_EQ(locus_worker_close(w), 0);
    CHECK_EQ(locus_leave(node[1]), 0);
    CHECK_EQ(locus_leave(node[1]), -EINVAL);
    CHECK_EQ(locus_close(node[0]), 0);
    team.survives = 0;
    team.address[0] = '\0';
    team_open_all(&team, node);
    CHECK_EQ(locus_leave(node[1]), -EINVAL);
    CHECK_STR(locus_error(), "LOCUS_SURVIVES");
    team_close_all(2, node);
    struct locus_config c;
    locus_config_init(&c);
    c.tables = &table;
    c.table_count = 1;
    c.size = 1;
    CHECK_EQ(locus_open(&c, &alone), 0);
    CHECK_EQ(locus_leave(alone), 0);
    CHECK_EQ(locus_leave(NULL), 0);
}
