/*
 * A host that knows its own name on loopback, as Debian sets it up: 127.0.1.1 in its /etc/hosts;
 * all other hosts know the name with the address on their network. Nodes on both find each other by
 * that name.
 */
#include "cables.h"

#include <stdio.h>
#include <stdlib.h>

enum { NODES = 3 };
static const struct locus_table table = {.rows = 300, .length = 8};

/* How the nodes are told where to listen, if at all. */
enum told { BY_SECRET, BY_INTERFACE };

ROLE(namesake)
{
    struct team t = {TEAM_OF(NODES, 1, 2, LOCUS_ADAPTIVE, &table, 1), .address = "alpha:7777"};
    char host[64];
    locus *node;
    float row[8] = {1};
    int rank, told;
    CHECK_EQ(sscanf(arguments, "%63s %d %d", host, &rank, &told), 3);
    cables_enter(host);
    cables_know(rank < 2 ? "127.0.0.1 localhost\n127.0.1.1 alpha\n"
                         : "127.0.0.1 localhost\n10.77.0.1 alpha\n");
    if (told == BY_SECRET) CHECK_EQ(setenv("LOCUS_SECRET", "open sesame", 1), 0);
    if (told == BY_INTERFACE) t.listen = "eth0";
    const struct locus_config c = team_config(&t, rank);
    int rc = locus_open(&c, &node);
    parent_tell("opened %d %s", rc, rc ? locus_error() : "");
    CHECK_EQ(rc, 0);
    locus_worker *w = worker_of(node);
    for (locus_key k = 0; k < table.rows; k++) CHECK_EQ(locus_push(w, &k, 1, row), 0);
    CHECK_EQ(locus_quiesce(w), 0);
    for (locus_key k = 0; k < table.rows; k++) CHECK_EQ(locus_pull(w, &k, 1, row), 0);
    CHECK(row[0] == NODES);
    CHECK_EQ(locus_worker_close(w), 0);
    CHECK_EQ(locus_close(node), 0);
}

/* Ranks 0 and 1 are on the host that has the name. */
static void check_names(enum told told)
{
    CLOSED_BY(cables_remove) struct cables c = {.hosts = 0};
    struct child node[NODES];
    cables_need();
    cables_lay(&c, 2);
    for (int n = 0; n < NODES; n++)
        child_start(&node[n], "namesake", "%s %d %d", cables_host(&c, n < 2 ? 0 : 1), n, told);
    for (int n = 0; n < NODES; n++) child_expect(&node[n], "opened 0");
    for (int n = 0; n < NODES; n++) child_wait(&node[n]);
}

TEST(own_name, that_is_on_loopback_is_found_by_others)
{
    check_names(BY_SECRET);
}

TEST(own_name, an_interface_to_listen_at_is_where_the_rendezvous_is_too)
{
    check_names(BY_INTERFACE);
}
