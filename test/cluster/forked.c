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
    /* no time-out shall be what shows the loss */
    struct team t = {TEAM_OF(2, 1, 2, LOCUS_ADAPTIVE, &table, 1), .peer_timeout_s = 2.0 * HANG_S};
    float row[8] = {1};
    int rank, forks, rc = 0;
    CHECK_EQ(sscanf(arguments, "%d %d %31s", &rank, &forks, t.address), 3);
    const struct locus_config c = team_config(&t, rank);
    locus *node = team_open(&t, rank);
    locus_worker *w = worker_of(node);
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

/* A cluster of two, one of which has a child (or none has: -1); `dies` is killed, and the other
 * notices. Returns the child. */
static int kill_one(const char *address, int forks, int dies)
{
    struct child node[2];
    int idler = 0, pid;
    char name[32];
    for (int rank = 0; rank < 2; rank++)
        child_start(&node[rank], "forking", "%d %d %s", rank, forks, address);
    for (int rank = 0; rank < 2; rank++) {
        CHECK_EQ(sscanf(child_hear(&node[rank]), "forked %d", &pid), 1);
        CHECK((pid > 0) == (rank == forks));
        if (pid > 0) idler = pid;
    }
    child_kill(&node[dies]);
    snprintf(name, sizeof name, "lost: node %d ", dies);
    const char *said = child_hear(&node[1 - dies]);
    CHECK_STR(said, name);
    CHECK_STR(said, "closed the connection");
    child_wait(&node[1 - dies]);
    return idler;
}

/* Rank 0 listens at three ports, and all of them must be free again. */
TEST(forked, child_keeps_no_links_and_no_ports_of_its_dead_parent)
{
    char address[ADDRESS_BYTES], metrics[ADDRESS_BYTES];
    address_new(address);
    address_new(metrics);
    setenv("LOCUS_METRICS", metrics, 1);
    static const int forks[] = {1, 0, -1}, dies[] = {1, 0, 1};
    int idlers[3];
    for (int i = 0; i < 3; i++) idlers[i] = kill_one(address, forks[i], dies[i]);
    for (int i = 0; i < 2; i++) CHECK_EQ(kill(idlers[i], SIGKILL), 0);
}

/* Forking while nodes open and close, and rings come and go. */
TEST(forked, children_come_and_go_while_nodes_open_and_close)
{
    const struct team alone = {TEAM_OF(1, 1, 0, LOCUS_ADAPTIVE, &table, 1)};
    for (int i = 0; i < 20; i++) {
        locus *node = team_open(&alone, 0);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) _exit(0);
        int status;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
        CHECK_EQ(locus_close(node), 0);
    }
}
