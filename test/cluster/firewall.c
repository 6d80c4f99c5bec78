/*
 * One pair of nodes whose packets are lost while the cluster forms, as by a firewall between them:
 * the others wait for the two, for longer than the time-out of silence, and are told which two when
 * it is in vain. And a network that drops large packets alone.
 */
#include "cables.h"

#include "net/tcp.h"

#include <stdio.h>
#include <string.h>

enum { NODES = 4, FROM = 3, TO = 1 };
static const struct locus_table table = {.rows = 300, .length = 8};

ROLE(neighbour)
{
    /* half of the time-out must be longer than rank 0 may not run for */
    struct team t = {TEAM_OF(NODES, 1, 2, LOCUS_ADAPTIVE, &table, 1), .peer_timeout_s = 4};
    char host[64];
    locus *node;
    int rank;
    double join_timeout_s;
    CHECK_EQ(sscanf(arguments, "%63s %d %lf", host, &rank, &join_timeout_s), 3);
    struct locus_config c = cables_config(host, &t, rank);
    c.join_timeout_s = join_timeout_s;
    parent_tell("begins");
    int rc = locus_open(&c, &node);
    parent_tell("opened %d %s", rc, rc ? locus_error() : "");
    if (rc) return;
    char word[LINE_BYTES];
    CHECK(parent_hear(word));
    CHECK_EQ(locus_close(node), 0);
}

static void start(struct cables *c, struct child node[NODES], double join_timeout_s)
{
    cables_need();
    cables_lay(c, NODES);
    cables_lose(c, FROM, TO, true);
    for (int n = 0; n < NODES; n++)
        child_start(&node[n], "neighbour", "%s %d %g", cables_host(c, n), n, join_timeout_s);
    for (int n = 0; n < NODES; n++) child_expect(&node[n], "begins");
}

static void end(struct cables *c, struct child node[NODES])
{
    for (int n = 0; n < NODES; n++) child_wait(&node[n]);
    cables_remove(c);
}

TEST(firewall, between_two_nodes_that_is_opened_is_waited_for)
{
    struct cables c;
    struct child node[NODES];
    start(&c, node, HANG_S);
    sleep_s(5);
    cables_lose(&c, FROM, TO, false);
    for (int n = 0; n < NODES; n++) child_expect(&node[n], "opened 0");
    for (int n = 0; n < NODES; n++) child_tell(&node[n], "end");
    end(&c, node);
}

/* Each of the two says what it waited for; whoever says so first is whom the others name. */
TEST(firewall, between_two_nodes_is_what_all_name)
{
    struct cables c;
    struct child node[NODES];
    char at_from[128], at_to[128], said[1024];
    start(&c, node, 6);
    snprintf(at_from, sizeof at_from, "node %d (10.77.0.%d:", TO, TO + 1);
    snprintf(at_to, sizeof at_to, "node %d (10.77.0.%d:", FROM, FROM + 1);
    for (int n = 0; n < NODES; n++) {
        snprintf(said, sizeof said, "%s", child_hear(&node[n]));
        printf("node %d: %s\n", n, said);
        bool names_from = strstr(said, at_to), names_to = strstr(said, at_from);
        CHECK(n == FROM ? names_to : n == TO ? names_from : names_from && names_to);
        CHECK(strstr(said, " has not ") && !strstr(said, "silent"));
    }
    end(&c, node);
}

/* ---- large packets ---- */

/* Node 1 sends rows to node 0, which waits for it. */
ROLE(sender)
{
    enum { ROWS = 64, LENGTH = 1024 };
    static const struct locus_table rows = {.rows = ROWS, .length = LENGTH};
    static float values[ROWS * LENGTH];
    struct team t = {TEAM_OF(2, 1, 0, LOCUS_STATIC, &rows, 1), .peer_timeout_s = 4};
    locus_key keys[ROWS];
    char host[64];
    int rank;
    CHECK_EQ(sscanf(arguments, "%63s %d", host, &rank), 2);
    cables_config(host, &t, rank);
    locus *node = team_open(&t, rank);
    locus_worker *w = worker_of(node);
    for (int i = 0; i < ROWS; i++) keys[i] = (locus_key)i;
    int rc = rank ? locus_push(w, keys, ROWS, values) : 0;
    if (rc == 0) rc = locus_barrier(w);
    parent_tell("%d %s", rc, rc ? locus_error() : "");
    locus_worker_close(w);
    locus_close(node);
}

/* Node 1 is healthy: it must not be named as one that died. */
TEST(firewall, that_drops_large_packets_is_not_taken_for_a_dead_node)
{
    CLOSED_BY(cables_remove) struct cables c = {0};
    struct child node[2];
    cables_need();
    cables_lay(&c, 2);
    cables_narrow(&c, 0);
    for (int n = 0; n < 2; n++) child_start(&node[n], "sender", "%s %d", cables_host(&c, n), n);
    for (int n = 0; n < 2; n++) {
        const char *said = child_hear(&node[n]);
        printf("node %d: %s\n", n, said);
        CHECK_STR(said, "was silent for 4 s" TCP_ACKNOWLEDGED);
    }
    for (int n = 0; n < 2; n++) child_wait(&node[n]);
}
