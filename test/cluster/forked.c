/*
 * A node whose process has forked a child that goes on: the child holds nothing of the node, so
 * that the others notice the node's death at once, and not when their time-outs are over.
 */
#include "team.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct locus_table table = {.rows = 100, .length = 8};

/* Python's multiprocessing does so, for one. */
static pid_t fork_idler(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child > 0) return child;
    for (;;) pause();
}

ROLE(father)
{
    struct locus_config c;
    locus *node;
    locus_worker *w;
    float row[8] = {1};
    int rank, rc = 0;
    char address[ADDRESS_BYTES];
    CHECK_EQ(sscanf(arguments, "%d %31s", &rank, address), 2);
    locus_config_init(&c);
    c.tables = &table;
    c.table_count = 1;
    c.shards = 2;
    c.rank = rank;
    c.size = 2;
    c.rendezvous = address;
    c.peer_timeout_s = 2.0 * HANG_S; /* no time-out shall be what shows it */
    CHECK_EQ(locus_open(&c, &node), 0);
    CHECK_EQ(locus_worker_open(node, &w), 0);
    for (locus_key k = 0; k < 100; k++) CHECK_EQ(locus_push(w, &k, 1, row), 0);
    parent_tell("forked %d", rank == 1 ? (int)fork_idler() : 0);
    while (rc == 0) {
        for (locus_key k = 0; k < 100 && rc == 0; k++) rc = locus_pull(w, &k, 1, row);
        sleep_s(0.001);
    }
    CHECK_EQ(rc, -ECONNRESET);
    parent_tell("lost: %s", locus_error());
    locus_worker_close(w);
    CHECK_EQ(locus_close(node), -ECONNRESET);
}

TEST(forked, a_child_does_not_keep_its_dead_parents_links_open)
{
    struct child node[2];
    char address[ADDRESS_BYTES];
    int idler;
    address_new(address);
    for (int rank = 0; rank < 2; rank++) child_start(&node[rank], "father", "%d %s", rank, address);
    child_expect(&node[0], "forked 0");
    CHECK_EQ(sscanf(child_hear(&node[1]), "forked %d", &idler), 1);
    CHECK(idler > 0);
    child_kill(&node[1]);
    const char *said = child_hear(&node[0]);
    kill(idler, SIGKILL);
    CHECK_STR(said, "lost: node 1 ");
    CHECK_STR(said, "closed the connection");
    child_wait(&node[0]);
}

/* Forking while others open and close nodes, and rings come and go. */
TEST(forked, children_come_and_go_while_a_node_works)
{
    struct locus_config c;
    locus *node;
    locus_config_init(&c);
    c.tables = &table;
    c.table_count = 1;
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(locus_open(&c, &node), 0);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) _exit(0);
        int status;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
        CHECK_EQ(locus_close(node), 0);
    }
}
