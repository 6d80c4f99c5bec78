/* Clusters open and close at one address, again and again, each as soon as its own locus_close has returned: all join
 * every time, and nothing is left behind. */
#include "team.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct locus_table table = {.rows = 100, .length = 8};

/* A hundred in a usual check; a thousand with LOCUS_TEST_SECONDS of 50, or 125 with a sanitizer. */
static int cycles(void)
{
    return (IS_SANITIZED ? 8 : 20) * test_seconds();
}

static struct team team_at(const char *address, int nodes)
{
    struct team t = {.nodes = nodes, .workers = 2, .shards = 2, .tables = &table, .table_count = 1};
    snprintf(t.address, sizeof t.address, "%s", address);
    return t;
}

/* Everybody writes everywhere, so that what is measured has been used. */
static void push_all(struct seat *s)
{
    struct batch all = batch_of_all(s->node);
    CHECK_EQ(locus_push(s->worker, all.keys, all.n, all.values), 0);
    seat_barrier(s);
    CHECK_EQ(locus_pull(s->worker, all.keys, all.n, all.values), 0);
    batch_free(&all);
}

/* ---- footprints ---- */

enum { WARM = 10 }; /* cycles after which nothing may grow */

/* A thread that was joined, and a connection that nng closes behind us, may show for a moment yet. */
static void check_footprint(const struct footprint *before)
{
    enum { RESIDENT_KB = 4096 };
    struct footprint now = footprint_now();
    for (double end = now_s() + 10; now_s() < end; now = footprint_now()) {
        if (now.descriptors <= before->descriptors && now.threads <= before->threads) break;
        sleep_s(0.05);
    }
    if (now.descriptors > before->descriptors || now.threads > before->threads)
        test_fail(__FILE__, __LINE__, "%ld descriptors and %ld threads, and %ld and %ld before", now.descriptors,
                  now.threads, before->descriptors, before->threads);
    if (!IS_SANITIZED && now.resident_kb > before->resident_kb + RESIDENT_KB)
        test_fail(__FILE__, __LINE__, "memory grew from %ld to %ld KB", before->resident_kb, now.resident_kb);
}

/* ---- the same ranks every time ---- */

static void open_and_close_often(const struct team *t, int rank)
{
    struct footprint warm = {0};
    for (int i = 0; i < WARM + cycles(); i++) {
        if (i == WARM) warm = footprint_now();
        team_run_node(t, rank, push_all);
    }
    check_footprint(&warm);
}

ROLE(regular)
{
    int rank, nodes;
    char address[ADDRESS_BYTES];
    CHECK_EQ(sscanf(arguments, "%d %d %31s", &rank, &nodes, address), 3);
    struct team t = team_at(address, nodes);
    open_and_close_often(&t, rank);
}

TEST(reopen, two_processes_at_one_address)
{
    char address[ADDRESS_BYTES];
    struct child c[2];
    address_new(address);
    for (int i = 0; i < 2; i++) child_start(&c[i], "regular", "%d 2 %s", i, address);
    for (int i = 0; i < 2; i++) child_wait(&c[i]);
}

/* ---- other ranks every time: the next rank 0 may come while the last one still leaves ---- */

ROLE(rotating)
{
    int place, nodes;
    char address[ADDRESS_BYTES];
    CHECK_EQ(sscanf(arguments, "%d %d %31s", &place, &nodes, address), 3);
    struct team t = team_at(address, nodes);
    struct footprint warm = {0};
    int count = WARM + cycles() / 2;
    for (int i = 0; i < count; i++) {
        if (i == WARM) warm = footprint_now();
        team_run_node(&t, (place + i) % nodes, push_all);
    }
    check_footprint(&warm);
}

TEST(reopen, processes_that_change_their_ranks)
{
    char address[ADDRESS_BYTES];
    struct child c[3];
    address_new(address);
    for (int i = 0; i < 3; i++) child_start(&c[i], "rotating", "%d 3 %s", i, address);
    for (int i = 0; i < 3; i++) child_wait(&c[i]);
}

/* ---- all nodes in one process ---- */

TEST(reopen, nodes_of_one_process)
{
    char address[ADDRESS_BYTES];
    struct footprint warm = {0};
    address_new(address);
    struct team t = team_at(address, 3);
    for (int i = 0; i < WARM + cycles() / 4; i++) {
        if (i == WARM) warm = footprint_now();
        team_run(&t, push_all);
    }
    check_footprint(&warm);
}

/* ---- opening that fails ---- */

static int open_alone(const char *address, int rank, enum locus_technique technique)
{
    struct team t = team_at(address, 2);
    struct locus_config c = team_config(&t, rank);
    locus *n;
    c.technique = technique;
    c.join_timeout_s = 0.05;
    int rc = locus_open(&c, &n);
    CHECK(n == NULL);
    return rc;
}

TEST(reopen, what_could_not_open_leaves_nothing_behind)
{
    char address[ADDRESS_BYTES];
    struct footprint warm = {0};
    address_new(address);
    for (int i = 0; i < 3 * WARM; i++) {
        if (i == WARM) warm = footprint_now();
        CHECK_EQ(open_alone(address, i % 2, LOCUS_STATIC), -ETIMEDOUT);
        CHECK_EQ(open_alone(address, i % 2, LOCUS_ADAPTIVE), -ETIMEDOUT);
    }
    check_footprint(&warm);
}
