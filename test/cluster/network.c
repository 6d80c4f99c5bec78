/* Slow and broken networks: nodes behind proxies that delay, stall and cut what passes
 * between them. */
#include "namespaces.h"
#include "stress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct locus_table tables[] = {{.rows = 150, .length = 1},
                                            {.rows = 150, .length = 100}};
enum { TABLES = sizeof tables / sizeof *tables };

/* `first` is the first of a node's arguments: its rank, and where it finds the others, follow. */
static void start_node(struct namespaces *s, struct child *c, const char *role, double first,
                       int rank)
{
    char rendezvous[ADDRESS_BYTES], listen[ADDRESS_BYTES];
    namespaces_rendezvous(rendezvous);
    namespaces_address(rank, listen);
    namespaces_enter(s, rank);
    child_start(c, role, "%g %d %s %s %d", first, rank, rendezvous, listen, s->count);
    namespaces_leave(s);
}

/* ---- networks that work after all ---- */

enum { BUSY = 3 };

static void start_stress(struct namespaces *s, struct child c[BUSY])
{
    const struct stress p = {.nodes = BUSY,
                             .workers = 2,
                             .shards = 2,
                             .technique = LOCUS_STATIC,
                             .peer_timeout_s = 10,
                             .phases = 1,
                             .seconds = test_seconds() / 5.0};
    int fd = stress_new(&p);
    for (int i = 0; i < BUSY; i++) start_node(s, &c[i], "stress_node", fd, i);
}

TEST(network, delay_leaves_sums_exact)
{
    CLOSED_BY(namespaces_close) struct namespaces s;
    struct child c[BUSY];
    namespaces_open(&s, BUSY);
    namespaces_delay(&s, 0.01);
    start_stress(&s, c);
    for (int i = 0; i < BUSY; i++) child_wait(&c[i]);
}

/* Directions stall at random, for a time that is below the time-out. */
TEST(network, stalls_below_peer_timeout_do_no_harm)
{
    CLOSED_BY(namespaces_close) struct namespaces s;
    struct child c[BUSY];
    unsigned seed = 5;
    namespaces_open(&s, BUSY);
    start_stress(&s, c);
    for (int i = 0; i < BUSY; i++) child_expect(&c[i], "open");
    for (double end = now_s() + test_seconds() / 5.0; now_s() < end;) {
        int a = rand_r(&seed) % BUSY, b = (a + 1 + rand_r(&seed) % 2) % BUSY;
        namespaces_stall(&s, a, b, true);
        sleep_s(0.02 + (rand_r(&seed) % 200) * 1e-3);
        namespaces_stall(&s, a, b, false);
        sleep_s(0.01);
    }
    for (int i = 0; i < BUSY; i++) child_wait(&c[i]);
}

/* ---- networks that do not ---- */

/* Tells how long it took to read everything, and does that until it fails; then closes, and tells
 * why. */
ROLE(network_reader)
{
    char listen[ADDRESS_BYTES];
    int rank;
    struct team t = {TEAM_OF(0, 1, 2, LOCUS_STATIC, tables, TABLES), .listen = listen};
    CHECK_EQ(sscanf(arguments, "%lf %d %31s %31s %d", &t.peer_timeout_s, &rank, t.address, listen,
                    &t.nodes),
             5);
    locus *n = team_open(&t, rank);
    locus_worker *w = worker_of(n);
    CLOSED_BY(batch_free) struct batch all = batch_of_all(n);
    double began = now_s();
    int rc = locus_pull(w, all.keys, all.n, all.values);
    parent_tell("%g", now_s() - began);
    while (rc == 0 && (rc = locus_pull(w, all.keys, all.n, all.values)) == 0) sleep_s(0.02);
    CHECK_EQ(rc, -ECONNRESET);
    parent_tell("%s", locus_error());
    locus_worker_close(w);
    CHECK_EQ(locus_close(n), -ECONNRESET);
}

enum { READERS = 3 };
#define PEER_TIMEOUT_S 8 /* half of it is longer than a busy machine keeps one from running */

struct failure {
    struct namespaces namespaces;
    struct child node[READERS];
    char said[READERS][LINE_BYTES];
};

/* The delay of each direction is really there: an answer takes as long as both. */
static void failure_prepare(struct failure *a, double delay_s)
{
    namespaces_open(&a->namespaces, READERS);
    namespaces_delay(&a->namespaces, delay_s);
    for (int i = 0; i < READERS; i++)
        start_node(&a->namespaces, &a->node[i], "network_reader", PEER_TIMEOUT_S, i);
    for (int i = 0; i < READERS; i++) CHECK(strtod(child_hear(&a->node[i]), NULL) >= 2 * delay_s);
    sleep_s(0.1);
}

/* All learn of it, and name one of the two whose connection it was. */
static void failure_check(struct failure *a, int one, int other, const char *reason)
{
    char name[2][16];
    snprintf(name[0], sizeof name[0], "node %d (", one);
    snprintf(name[1], sizeof name[1], "node %d (", other);
    bool has_reason = false;
    for (int i = 0; i < READERS; i++) {
        const char *text = child_hear(&a->node[i]);
        if (strncmp(text, name[0], strlen(name[0])) != 0) CHECK_STR(text, name[1]);
        has_reason |= strstr(text, reason) != NULL;
        snprintf(a->said[i], LINE_BYTES, "%s", text);
    }
    if (!has_reason)
        test_fail(__FILE__, __LINE__, "nobody says \"%s\", but: %s, %s and %s", reason, a->said[0],
                  a->said[1], a->said[2]);
    for (int i = 0; i < READERS; i++) child_wait(&a->node[i]);
    namespaces_close(&a->namespaces);
}

TEST(network, connection_that_is_cut_is_a_loss)
{
    static struct failure a;
    failure_prepare(&a, 0.05);
    proxy_cut(a.namespaces.link[2][1]);
    proxy_cut(a.namespaces.link[1][2]);
    failure_check(&a, 1, 2, "connection");
}

TEST(network, silence_in_one_direction_is_a_loss)
{
    static struct failure a;
    failure_prepare(&a, 0);
    namespaces_stall(&a.namespaces, 2, 1, true);
    failure_check(&a, 2, 2, "silent"); /* node 1 is well and heard by all */
}
