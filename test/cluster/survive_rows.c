/*
 * A node is lost, and the others say where each row is, however many there are: also to a node that is
 * stopped meanwhile.
 */
#include "team.h"

#include <signal.h>
#include <stdio.h>

enum { NODES = 3, ROWS = 1000000, CALL = 1000 };
static const struct locus_table table = {.rows = ROWS, .length = 1};

static void push_all(struct seat *s)
{
    locus_key keys[CALL];
    float ones[CALL];
    for (unsigned i = 0; i < CALL; i++) ones[i] = 1;
    for (locus_key first = 0; first < ROWS; first += CALL) {
        for (unsigned i = 0; i < CALL; i++) keys[i] = first + i;
        CHECK_EQ(locus_localize(s->worker, keys, CALL), 0);
        CHECK_EQ(locus_push(s->worker, keys, CALL, ones), 0);
    }
}

/* Node 0 has all rows, and its claims go to a node that is stopped. */
static void claim(struct seat *s)
{
    if (s->rank == 0) push_all(s);
    seat_barrier(s);
    if (s->rank == NODES - 1) parent_tell("ready");
    for (double nodes = NODES; nodes > NODES - 1;) {
        nodes = 1;
        CHECK_EQ(locus_sum(s->worker, &nodes, 1), 0);
    }
}

ROLE(survive_rows)
{
    struct team t = {TEAM_OF(NODES, 1, 1, LOCUS_ADAPTIVE, &table, 1), .survives = 1};
    int rank;
    CHECK_EQ(sscanf(arguments, "%d %31s", &rank, t.address), 2);
    team_run_node(&t, rank, claim);
}

TEST(survive_rows, a_million_rows_that_are_away_from_home_are_claimed)
{
    struct child child[NODES];
    char address[ADDRESS_BYTES];
    address_new(address);
    for (int i = 0; i < NODES; i++) child_start(&child[i], "survive_rows", "%d %s", i, address);
    child_expect(&child[NODES - 1], "ready");
    child_signal(&child[1], SIGSTOP);
    child_kill(&child[NODES - 1]);
    sleep_s(1);
    child_signal(&child[1], SIGCONT);
    for (int i = 0; i < NODES - 1; i++) child_wait(&child[i]);
}
