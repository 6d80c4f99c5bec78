/*
 * A node whose process has forked a child that goes on: the child holds nothing of the node, so
 * that the others notice the node's death at once, and not when their time-outs are over.
 */
#include "team.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct locus_table table = {.rows = 100, .length = 8};

/* No call of a child waits for what is in its parent. */
static void is_refused(locus *node, locus_worker *w, const struct locus_config *c)
{
    float row[8];
    locus *other;
    alarm(HANG_S);
    for (locus_key k = 0; k < 100; k++) CHECK_EQ(locus_pull(w, &k, 1, row), -EPERM);
    CHECK_EQ(locus_barrier(w), -EPERM);
    CHECK_EQ(locus_quiesce(w), -EPERM);
    CHECK_EQ(locus_worker_close(w), -EPERM);
    CHECK_EQ(locus_close(node), -EPERM);
    CHECK_EQ(locus_open(c, &other), -EPERM);
    CHECK_STR(locus_error(), "has forked this one after it had opened a node of a cluster");
    alarm(0);
}

/* Python's multiprocessing does so, for one. */
static pid_t fork_idler(locus *node, locus_worker *w, const struct locus_config *c)
{
    int ends[2];
    char byte = 0;
    CHECK_EQ(pipe(ends), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child > 0) {
        close(ends[1]);
        CHECK_EQ(read(ends[0], &byte, 1), 1);
        return child;
    }
    is_refused(node, w, c);
    CHECK_EQ(write(ends[1], &byte, 1), 1);
    for (;;) pause();
}

ROLE(forking)
{
    struct locus_config c;
    locus *node;
    locus_worker *w;
    float row[8] = {1};
    int rank, forks, rc = 0;
    char address[ADDRESS_BYTES];
    CHECK_EQ(sscanf(arguments, "%d %d %31s", &rank, &forks, address), 3);
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
    parent_tell("forked %d", rank == forks ? (int)fork_idler(node, w, &c) : 0);
    while (rc == 0) {
        for (locus_key k = 0; k < 100 && rc == 0; k++) rc = locus_pull(w, &k, 1, row);
        sleep_s(0.001);
    }
    CHECK_EQ(rc, -ECONNRESET);
    parent_tell("lost: %s", locus_error());
    locus_worker_close(w);
    CHECK_EQ(locus_close(node), -ECONNRESET);
}

static void start_nodes(struct child node[2], int forks, const char *address)
{
    for (int rank = 0; rank < 2; rank++)
        child_start(&node[rank], "forking", "%d %d %s", rank, forks, address);
}

TEST(forked, child_does_not_keep_links_of_its_dead_parent_open)
{
    struct child node[2];
    char address[ADDRESS_BYTES];
    int idler;
    address_new(address);
    start_nodes(node, 1, address);
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

/* Rank 0 listens at three ports, and all of them must be free again. */
TEST(forked, cluster_opens_where_a_dead_one_was_whose_child_lives)
{
    struct child node[2];
    char address[ADDRESS_BYTES], metrics[ADDRESS_BYTES];
    int idler;
    address_new(address);
    address_new(metrics);
    setenv("LOCUS_METRICS", metrics, 1);
    start_nodes(node, 0, address);
    CHECK_EQ(sscanf(child_hear(&node[0]), "forked %d", &idler), 1);
    CHECK(idler > 0);
    child_expect(&node[1], "forked 0");
    child_kill(&node[0]);
    CHECK_STR(child_hear(&node[1]), "lost: node 0 ");
    child_wait(&node[1]);
    start_nodes(node, -1, address);
    for (int rank = 0; rank < 2; rank++) child_expect(&node[rank], "forked 0");
    child_kill(&node[1]);
    CHECK_STR(child_hear(&node[0]), "lost: node 1 ");
    child_wait(&node[0]);
    kill(idler, SIGKILL);
}

/* Forking while others open and close nodes, and rings come and go. */
TEST(forked, children_come_and_go_while_nodes_open_and_close)
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
