/*
 * A node joins a running job, where one of its rank was killed: at any moment, while the others push,
 * pull, intend and localize, or wait in a collective. It works before it meets them, is let in at
 * locus_meet(), and from then on is a node as any other. And again, and after the loss of another one.
 *
 * Nodes are processes in the role `join_node`. In memory that they share each counts the pushes that it
 * has begun, a row. When all nodes have met and quiesced the rows lack what a killed node took with it,
 * and from then on no more; they never have more than was pushed.
 */
#include "team.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    NODES = 3,
    WORKERS = 2,
    SEATS = NODES * WORKERS,
    KEYS = 600,
    LENGTH = 12,
    CALL = 20,
    STEPS = 40
};
static const struct locus_table table = {.rows = KEYS, .length = LENGTH};

struct shared {
    int begun[NODES][KEYS]; /* atomic */
    int kills, must_end;    /* atomic */
};

struct node {
    struct team team;
    struct shared *shared;
    bool is_newcomer;
    int missing[KEYS], kills; /* when all had met the last time; -1: they had not */
};

#define WORKS(call) check_call(s, #call, call)

static void check_call(const struct seat *s, const char *call, int rc)
{
    if (rc) test_fail(__FILE__, __LINE__, "node %d: %s: %d, %s", s->rank, call, rc, locus_error());
}

static void work(struct seat *s)
{
    const struct node *n = s->team->shared;
    locus_key keys[CALL];
    float rows[CALL * LENGTH], ones[CALL * LENGTH];
    for (int i = 0; i < CALL * LENGTH; i++) ones[i] = 1;
    for (unsigned step = 0; step < STEPS; step++) {
        locus_clock now = locus_current_clock(s->worker);
        unsigned kind = seat_random(s, 6);
        for (int i = 0; i < CALL; i++) keys[i] = seat_random(s, kind ? KEYS : KEYS / 10);
        if (kind < 3) WORKS(locus_intent(s->worker, keys, CALL, now, now + 1 + kind));
        if (kind == 3 && s->team->technique != LOCUS_REPLICATE)
            WORKS(locus_localize(s->worker, keys, CALL));
        for (int i = 0; i < CALL; i++)
            __atomic_fetch_add(&n->shared->begun[s->rank][keys[i]], 1, __ATOMIC_SEQ_CST);
        WORKS(locus_push(s->worker, keys, CALL, ones));
        WORKS(locus_pull(s->worker, keys, CALL, rows));
        for (int i = 0; i < CALL * LENGTH; i++) CHECK(rows[i] == rows[i - i % LENGTH]);
        locus_advance_clock(s->worker);
    }
}

static int kills(const struct node *n)
{
    return __atomic_load_n(&n->shared->kills, __ATOMIC_SEQ_CST);
}

/* All nodes are there, and rest, unless one is being killed. */
static void check_rows(struct seat *s)
{
    struct node *n = s->team->shared;
    int before = kills(n);
    for (locus_key key = 0; key < KEYS; key++) {
        float row[LENGTH];
        int begun = 0;
        WORKS(locus_pull(s->worker, &key, 1, row));
        for (int rank = 0; rank < NODES; rank++)
            begun += __atomic_load_n(&n->shared->begun[rank][key], __ATOMIC_SEQ_CST);
        int missing = begun - (int)row[0];
        bool differs = n->kills == before && missing != n->missing[key] && kills(n) == before;
        if (missing < 0 || differs)
            test_fail(__FILE__, __LINE__, "node %d: row %d lacks %d of %d, before %d", s->rank,
                      (int)key, missing, begun, n->missing[key]);
        n->missing[key] = missing;
    }
    n->kills = kills(n) == before ? before : -1;
}

/* A newcomer may do nothing else together with others before. */
static void be_new(struct seat *s)
{
    const struct node *n = s->team->shared;
    struct locus_losses l;
    CHECK_EQ(locus_losses_read(s->node, &l), 0);
    CHECK_EQ(l.is_newcomer, n->is_newcomer);
    if (!n->is_newcomer) return;
    work(s);
    CHECK_EQ(locus_barrier(s->worker), -EINVAL);
    CHECK_STR(locus_error(), "has joined a running job");
    CHECK_EQ(locus_sum(s->worker, (double[]){1}, 1), -EINVAL);
    CHECK_EQ(locus_quiesce(s->worker), -EINVAL);
    if (s->id == 0) parent_tell("joined");
}

static void live(struct seat *s)
{
    struct node *n = s->team->shared;
    be_new(s);
    for (bool ends = false; !ends;) {
        bool is_chair = s->rank == 0 && s->id == 0;
        double sum[2] = {1, is_chair && __atomic_load_n(&n->shared->must_end, __ATOMIC_SEQ_CST)};
        if (seat_random(s, 50) == 0) sleep_s(0.02); /* the others wait in a collective */
        WORKS(locus_meet(s->worker, sum, 2));
        ends = sum[1] > 0;
        work(s);
        WORKS(locus_quiesce(s->worker));
        double there = 1;
        WORKS(locus_sum(s->worker, &there, 1));
        CHECK(sum[0] <= SEATS && there <= sum[0]); /* one may be lost between */
        if (there == SEATS && s->id == 0) check_rows(s);
        if (is_chair) parent_tell("met %d", (int)there / WORKERS);
        WORKS(locus_barrier(s->worker));
    }
}

ROLE(join_node)
{
    static struct node n;
    int fd, rank, technique, is_newcomer;
    CHECK_EQ(
        sscanf(arguments, "%d %d %d %d %31s", &fd, &rank, &technique, &is_newcomer, n.team.address),
        5);
    n.shared = mmap(NULL, sizeof *n.shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(n.shared != MAP_FAILED);
    n.is_newcomer = is_newcomer;
    n.kills = -1;
    n.team.nodes = NODES;
    n.team.workers = WORKERS;
    n.team.shards = 2;
    n.team.survives = 1;
    n.team.tables = &table;
    n.team.table_count = 1;
    n.team.technique = (enum locus_technique)technique;
    n.team.peer_timeout_s = 2.0 * HANG_S; /* whoever ends is noticed by its connections */
    n.team.shared = &n;
    team_run_node(&n.team, rank, live);
    parent_tell("closed");
}

/* ---- a cluster that nodes join ---- */

struct scenario {
    enum locus_technique technique;
    int fd;
    char address[ADDRESS_BYTES];
    struct shared *shared;
    struct child child[NODES];
};

static void start_node(struct scenario *s, int rank, int is_newcomer)
{
    child_start(&s->child[rank], "join_node", "%d %d %d %d %s", s->fd, rank, (int)s->technique,
                is_newcomer, s->address);
}

static void start(struct scenario *s)
{
    int file = memfd_create("join", MFD_CLOEXEC);
    address_new(s->address);
    s->fd = fcntl(file, F_DUPFD, 64); /* children inherit it, and have others below */
    CHECK(s->fd >= 0 && ftruncate(s->fd, sizeof *s->shared) == 0);
    close(file);
    s->shared = mmap(NULL, sizeof *s->shared, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    CHECK(s->shared != MAP_FAILED);
    for (int i = 0; i < NODES; i++) start_node(s, i, false);
}

/* As many nodes, for some time: what was lost or has joined is repaired then. */
static void await(struct scenario *s, int nodes)
{
    for (int since = 0, met; since < 5; since = met == nodes ? since + 1 : 0)
        CHECK_EQ(sscanf(child_hear(&s->child[0]), "met %d", &met), 1);
}

static void kill_node(struct scenario *s, int rank)
{
    __atomic_fetch_add(&s->shared->kills, 1, __ATOMIC_SEQ_CST);
    child_signal(&s->child[rank], SIGKILL);
    child_kill(&s->child[rank]);
}

static void finish(struct scenario *s)
{
    const char *line;
    __atomic_store_n(&s->shared->must_end, 1, __ATOMIC_SEQ_CST);
    while (strncmp(line = child_hear(&s->child[0]), "met", 3) == 0) continue;
    CHECK_STR(line, "closed");
    for (int i = 1; i < NODES; i++) child_expect(&s->child[i], "closed");
    for (int i = 0; i < NODES; i++) child_wait(&s->child[i]);
    munmap(s->shared, sizeof *s->shared);
    close(s->fd);
}

static const enum locus_technique techniques[] = {LOCUS_ADAPTIVE, LOCUS_RELOCATE, LOCUS_REPLICATE};

/* It may come before the others have noticed that its predecessor has ended. */
TEST(join, node_takes_the_rank_of_one_that_was_killed_again_and_again)
{
    unsigned seed = (unsigned)getpid();
    printf("seed %u\n", seed);
    for (int i = 0; i < 3; i++) {
        struct scenario s = {.technique = techniques[i]};
        start(&s);
        await(&s, NODES);
        for (int k = 0; k < 4; k++) {
            int rank = 1 + (int)((unsigned)rand_r(&seed) % (NODES - 1));
            kill_node(&s, rank);
            if (k % 2) await(&s, NODES - 1);
            start_node(&s, rank, true);
            child_expect(&s.child[rank], "joined");
            await(&s, NODES);
        }
        finish(&s);
    }
}

/* Two, one after the other; then they come back at once, and one waits for the other. */
TEST(join, two_nodes_that_come_at_once_join_one_after_the_other)
{
    struct scenario s = {.technique = LOCUS_ADAPTIVE};
    start(&s);
    await(&s, NODES);
    kill_node(&s, 1);
    await(&s, NODES - 1);
    kill_node(&s, 2);
    await(&s, NODES - 2);
    for (int rank = 1; rank < NODES; rank++) start_node(&s, rank, true);
    for (int rank = 1; rank < NODES; rank++) child_expect(&s.child[rank], "joined");
    await(&s, NODES);
    finish(&s);
}
