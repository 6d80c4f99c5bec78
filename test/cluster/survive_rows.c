/*
 * A node is lost, and what the others do with all rows: restore them from a checkpoint of all nodes,
 * or say where each is, however many there are.
 */
#include "team.h"

#include "common/folder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, FEW = 300, MANY = 1000000, CALL = 1000 };

struct rows {
    struct team team;
    struct locus_table table;
    char folder[FOLDER_PATH_BYTES]; /* "-": there is no checkpoint */
};

static void push_all(struct seat *s, locus_key first, locus_key step)
{
    locus_key keys[CALL], all = locus_keys(s->node);
    float ones[CALL];
    for (int i = 0; i < CALL; i++) ones[i] = 1;
    while (first < all) {
        size_t n = 0;
        for (; n < CALL && first < all; first += step) keys[n++] = first;
        CHECK_EQ(locus_localize(s->worker, keys, n), 0);
        CHECK_EQ(locus_push(s->worker, keys, n, ones), 0);
    }
}

static void check_all(struct seat *s)
{
    float row;
    for (locus_key key = 0; key < locus_keys(s->node); key++) {
        CHECK_EQ(locus_pull(s->worker, &key, 1, &row), 0);
        if (row != 1)
            test_fail(__FILE__, __LINE__, "node %d: row %d is %g", s->rank, (int)key, row);
    }
}

static void await_loss(struct seat *s)
{
    double nodes = NODES;
    while (nodes > NODES - 1) {
        nodes = 1;
        CHECK_EQ(locus_sum(s->worker, &nodes, 1), 0);
    }
}

/* Rows of all nodes are in the checkpoint, and one of these is there no more. */
static void restore(struct seat *s)
{
    const struct rows *r = s->team->shared;
    push_all(s, (locus_key)s->rank, NODES);
    CHECK_EQ(locus_checkpoint(s->worker, r->folder), 0);
    if (s->rank == NODES - 1) parent_tell("ready");
    await_loss(s);
    CHECK_EQ(locus_restore(s->worker, r->folder), 0);
    check_all(s);
}

/* Node 0 has all rows, and its claims go to a node that is stopped. */
static void claim(struct seat *s)
{
    if (s->rank == 0) push_all(s, 0, 1);
    seat_barrier(s);
    if (s->rank == NODES - 1) parent_tell("ready");
    await_loss(s);
}

ROLE(survive_rows)
{
    struct rows r = {.team = {TEAM_OF(NODES, 1, 1, LOCUS_ADAPTIVE, &r.table, 1)}};
    int rank;
    CHECK_EQ(sscanf(arguments, "%d %31s %119s", &rank, r.team.address, r.folder), 3);
    bool has_folder = strcmp(r.folder, "-") != 0;
    r.table = (struct locus_table){.rows = has_folder ? FEW : MANY, .length = 1};
    r.team.survives = 1;
    r.team.shared = &r;
    team_run_node(&r.team, rank, has_folder ? restore : claim);
}

static void lose_last(const char *folder)
{
    struct child child[NODES];
    char address[ADDRESS_BYTES];
    bool is_stopped = strcmp(folder, "-") == 0;
    address_new(address);
    for (int i = 0; i < NODES; i++)
        child_start(&child[i], "survive_rows", "%d %s %s", i, address, folder);
    child_expect(&child[NODES - 1], "ready");
    if (is_stopped) child_signal(&child[1], SIGSTOP);
    child_kill(&child[NODES - 1]);
    if (is_stopped) sleep_s(1);
    if (is_stopped) child_signal(&child[1], SIGCONT);
    for (int i = 0; i < NODES - 1; i++) child_wait(&child[i]);
}

TEST(survive_rows, checkpoint_of_all_nodes_is_restored_by_those_that_live)
{
    char folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    lose_last(folder);
}

TEST(survive_rows, a_million_rows_that_are_away_from_home_are_claimed)
{
    lose_last("-");
}
