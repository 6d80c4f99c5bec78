/*
 * Nodes leave a running job (locus_leave), or are killed, and others join it in their place: at any
 * moment, while the others push, pull, intend and localize, or wait in a collective. No call of the
 * others fails. Of one that leaves nothing is lost, nor because of one that joins. A newcomer works
 * before it meets the others, is let in at locus_meet(), and from then on is a node as any other.
 *
 * Nodes are processes in the role `member`. In memory that they share each counts the pushes that it
 * has begun, a row. When all nodes have met and quiesced the rows have exactly as much until a node is
 * killed. Then they lack what that one took with it, and from then on no more; they never have more
 * than was pushed.
 */
#include "team.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES_MAX = 4, WORKERS = 2, KEYS = 600, LENGTH = 12, CALL = 20, STEPS = 40 };
static const struct locus_table table = {.rows = KEYS, .length = LENGTH};

struct shared {
    int begun[NODES_MAX][KEYS]; /* atomic */
    int must_leave[NODES_MAX];  /* atomic */
    /* atomic: of those that are to meet; nodes that were killed; newcomers that have begun */
    int seats, kills, newcomers, must_end;
};

struct node {
    struct team team;
    struct shared *shared;
    bool is_newcomer;
    int missing[KEYS], kills; /* when all had met the last time */
    int met;                  /* how often they have since anything happened to one */
};

#define WORKS(call) check_call(s, #call, call)

static void check_call(const struct seat *s, const char *call, int rc)
{
    if (rc) test_fail(__FILE__, __LINE__, "node %d: %s: %d, %s", s->rank, call, rc, locus_error());
}

static int look(const int *shared)
{
    return __atomic_load_n(shared, __ATOMIC_SEQ_CST);
}

static bool must_leave(const struct seat *s)
{
    return look(s->team->must_leave);
}

static void step(struct seat *s)
{
    const struct node *n = s->team->shared;
    locus_key keys[CALL];
    float rows[CALL * LENGTH], ones[CALL * LENGTH];
    size_t count = 1 + seat_random(s, CALL);
    locus_clock now = locus_current_clock(s->worker);
    unsigned kind = seat_random(s, 6), among = seat_random(s, 2) ? KEYS : KEYS / 10;
    for (int i = 0; i < CALL * LENGTH; i++) ones[i] = 1;
    for (size_t i = 0; i < count; i++) {
        keys[i] = seat_random(s, among);
        __atomic_fetch_add(&n->shared->begun[s->rank][keys[i]], 1, __ATOMIC_SEQ_CST);
    }
    if (kind < 3) WORKS(locus_intent(s->worker, keys, count, now, now + 1 + kind));
    if (kind == 3) WORKS(locus_intent(s->worker, keys, 1, now, LOCUS_FOREVER));
    if (kind == 4 && s->team->technique != LOCUS_REPLICATE)
        WORKS(locus_localize(s->worker, keys, count));
    WORKS(locus_push(s->worker, keys, count, ones));
    WORKS(locus_pull(s->worker, keys, count, rows));
    for (size_t i = 0; i < count * LENGTH; i++) CHECK(rows[i] == rows[i - i % LENGTH]);
    locus_advance_clock(s->worker);
}

static void work(struct seat *s)
{
    for (int i = 0; i < STEPS && !must_leave(s); i++) step(s);
}

/* One was killed since, or pushes and has not met the others. */
static bool is_disturbed(const struct node *n, int kills, int newcomers)
{
    return look(&n->shared->kills) != kills || look(&n->shared->newcomers) != newcomers;
}

/* All nodes are there, and rest, unless one is being killed or begins. */
static void check_rows(struct seat *s)
{
    struct node *n = s->team->shared;
    int kills = look(&n->shared->kills), newcomers = look(&n->shared->newcomers);
    if (n->kills != kills) n->met = 0;
    /* What is lost with a node may have been so just after all had met without it. */
    bool is_known = n->met > 1 || kills == 0;
    for (locus_key key = 0; key < KEYS; key++) {
        float row[LENGTH];
        int begun = 0;
        WORKS(locus_pull(s->worker, &key, 1, row));
        for (int rank = 0; rank < NODES_MAX; rank++) begun += look(&n->shared->begun[rank][key]);
        int missing = begun - (int)row[0];
        bool differs = is_known && missing != n->missing[key];
        if (missing < 0 || (differs && !is_disturbed(n, kills, newcomers)))
            test_fail(__FILE__, __LINE__, "node %d: row %d lacks %d of %d, before %d", s->rank,
                      (int)key, missing, begun, n->missing[key]);
        n->missing[key] = missing;
    }
    n->kills = kills;
    n->met = is_disturbed(n, kills, newcomers) ? 0 : n->met + 1;
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

/* Who leaves does so in the middle, and comes to no meeting any more. */
static void live(struct seat *s)
{
    struct node *n = s->team->shared;
    be_new(s);
    for (bool ends = false; !ends && !must_leave(s);) {
        bool is_chair = s->rank == 0 && s->id == 0;
        double sum[2] = {1, is_chair && look(&n->shared->must_end)};
        if (seat_random(s, 50) == 0) sleep_s(0.02); /* the others wait in a collective */
        WORKS(locus_meet(s->worker, sum, 2));
        ends = sum[1] > 0;
        work(s);
        if (must_leave(s)) break;
        WORKS(locus_quiesce(s->worker));
        double there = 1;
        WORKS(locus_sum(s->worker, &there, 1));
        CHECK(sum[0] <= s->seats && there <= sum[0]); /* one may be lost between */
        if (there == look(&n->shared->seats) && s->id == 0) check_rows(s);
        if (is_chair) parent_tell("met %d", (int)there / WORKERS);
        WORKS(locus_barrier(s->worker));
    }
}

ROLE(member)
{
    static struct node n;
    int fd, rank, technique, is_newcomer;
    CHECK_EQ(sscanf(arguments, "%d %d %d %d %d %lf %31s", &fd, &n.team.nodes, &rank, &technique,
                    &is_newcomer, &n.team.peer_timeout_s, n.team.address),
             7);
    n.shared = shared_of(fd, sizeof *n.shared);
    n.is_newcomer = is_newcomer;
    n.team.workers = WORKERS;
    n.team.shards = 2;
    n.team.survives = 1;
    n.team.tables = &table;
    n.team.table_count = 1;
    n.team.technique = (enum locus_technique)technique;
    n.team.must_leave = &n.shared->must_leave[rank];
    n.team.shared = &n;
    team_run_node(&n.team, rank, live);
    parent_tell(look(n.team.must_leave) ? "left" : "closed");
}

/* ---- a cluster whose members change ---- */

struct scenario {
    int nodes;
    enum locus_technique technique;
    double peer_timeout_s; /* 0: whoever ends is noticed by its connections */
    unsigned gone;         /* a bit each: those that are not there at the end */
    int fd;
    char address[ADDRESS_BYTES];
    struct shared *shared;
    struct child child[NODES_MAX];
};

static void add(int *shared, int number)
{
    __atomic_fetch_add(shared, number, __ATOMIC_SEQ_CST);
}

static void start_node(struct scenario *s, int rank, int is_newcomer)
{
    add(&s->shared->newcomers, is_newcomer);
    add(&s->shared->seats, WORKERS);
    s->gone &= ~(1u << rank);
    child_start(&s->child[rank], "member", "%d %d %d %d %d %g %s", s->fd, s->nodes, rank,
                (int)s->technique, is_newcomer,
                s->peer_timeout_s > 0 ? s->peer_timeout_s : 2.0 * HANG_S, s->address);
}

/* As many nodes, for some time: what was lost, has left or has joined is repaired then. */
static void await(struct scenario *s, int nodes)
{
    for (int since = 0, met; since < 5; since = met == nodes ? since + 1 : 0)
        CHECK_EQ(sscanf(child_hear(&s->child[0]), "met %d", &met), 1);
}

static void start(struct scenario *s)
{
    address_new(s->address);
    s->shared = shared_new(sizeof *s->shared, &s->fd);
    for (int i = 0; i < s->nodes; i++) start_node(s, i, false);
    await(s, s->nodes);
}

static void note_gone(struct scenario *s, int rank)
{
    s->gone |= 1u << rank;
    add(&s->shared->seats, -WORKERS);
}

static void note_loss(struct scenario *s, int rank)
{
    add(&s->shared->kills, 1);
    note_gone(s, rank);
}

static void kill_node(struct scenario *s, int rank)
{
    note_loss(s, rank);
    child_kill(&s->child[rank]);
}

static void tell_to_leave(struct scenario *s, int rank)
{
    add(&s->shared->must_leave[rank], 1);
}

static void await_left(struct scenario *s, int rank)
{
    child_expect(&s->child[rank], "left");
    child_wait(&s->child[rank]);
    note_gone(s, rank);
}

/* Those that are left train on, and end. */
static void finish(struct scenario *s)
{
    const char *line;
    int left = 0;
    for (int i = 0; i < s->nodes; i++) left += !(s->gone >> i & 1);
    await(s, left);
    add(&s->shared->must_end, 1);
    while (strncmp(line = child_hear(&s->child[0]), "met", 3) == 0) continue;
    CHECK_STR(line, "closed");
    for (int i = 1; i < s->nodes; i++)
        if (!(s->gone >> i & 1)) child_expect(&s->child[i], "closed");
    for (int i = 0; i < s->nodes; i++)
        if (!(s->gone >> i & 1)) child_wait(&s->child[i]);
    shared_free(s->shared, sizeof *s->shared, s->fd);
}

static const enum locus_technique techniques[] = {LOCUS_ADAPTIVE, LOCUS_RELOCATE, LOCUS_REPLICATE};

/* ---- who joins ---- */

/* It may come before the others have noticed that its predecessor has ended. */
TEST(join, node_takes_the_rank_of_one_that_was_killed_again_and_again)
{
    unsigned seed = (unsigned)getpid();
    printf("seed %u\n", seed);
    for (int i = 0; i < 3; i++) {
        struct scenario s = {.nodes = 3, .technique = techniques[i]};
        start(&s);
        for (int k = 0; k < 4; k++) {
            int rank = 1 + (int)((unsigned)rand_r(&seed) % 2);
            kill_node(&s, rank);
            if (k % 2) await(&s, 2);
            start_node(&s, rank, true);
            child_expect(&s.child[rank], "joined");
            await(&s, 3);
        }
        finish(&s);
    }
}

/* Two, one after the other; then they come back at once, and one waits for the other. */
TEST(join, two_nodes_that_come_at_once_join_one_after_the_other)
{
    struct scenario s = {.nodes = 3};
    start(&s);
    kill_node(&s, 1);
    await(&s, 2);
    kill_node(&s, 2);
    await(&s, 1);
    for (int rank = 1; rank < 3; rank++) start_node(&s, rank, true);
    for (int rank = 1; rank < 3; rank++) child_expect(&s.child[rank], "joined");
    finish(&s);
}

/* While it connects, while the others repair its joining, or behind that; or another one is. */
TEST(join, killed_meanwhile)
{
    unsigned seed = (unsigned)getpid();
    printf("seed %u\n", seed);
    for (int i = 0; i < 3; i++) {
        struct scenario s = {.nodes = 4, .technique = techniques[i]};
        start(&s);
        kill_node(&s, 1);
        for (int k = 0; k < 4; k++) {
            start_node(&s, 1, true);
            sleep_s(0.001 * (rand_r(&seed) % 60));
            if (k == 2) kill_node(&s, 3);
            kill_node(&s, 1);
        }
        await(&s, 2);
        start_node(&s, 1, true);
        child_expect(&s.child[1], "joined");
        await(&s, 3);
        finish(&s);
    }
}

/* ---- who leaves ---- */

TEST(leave, one_of_several)
{
    for (int i = 0; i < 4; i++) {
        struct scenario s = {.nodes = i ? 3 : 2, .technique = techniques[i % 3]};
        start(&s);
        tell_to_leave(&s, s.nodes - 1);
        await_left(&s, s.nodes - 1);
        finish(&s);
    }
}

TEST(leave, two_at_once_and_then_a_loss)
{
    struct scenario s = {.nodes = 4};
    start(&s);
    tell_to_leave(&s, 1);
    tell_to_leave(&s, 3);
    await_left(&s, 1);
    await_left(&s, 3);
    await(&s, 2);
    kill_node(&s, 2);
    finish(&s);
}

/* It is killed while it leaves, or before, or behind that. */
TEST(leave, killed_meanwhile)
{
    for (int i = 0; i < 6; i++) {
        struct scenario s = {.nodes = 3};
        start(&s);
        tell_to_leave(&s, 1);
        sleep_s(0.002 * i * i);
        kill_node(&s, 1);
        finish(&s);
    }
}

/* Then it finds out that it was given up, if it had not left. */
TEST(leave, stopped_meanwhile)
{
    struct scenario s = {.nodes = 3, .peer_timeout_s = 8};
    start(&s);
    note_loss(&s, 1);
    tell_to_leave(&s, 1);
    child_signal(&s.child[1], SIGSTOP);
    finish(&s);
    child_kill(&s.child[1]);
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
