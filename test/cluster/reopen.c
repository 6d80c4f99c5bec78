/* Clusters open and close at one address, again and again, each as soon as its own locus_close has
 * returned: all join every time, and nothing is left behind. */
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

#define TEAM(nodes) TEAM_OF(nodes, 2, 2, LOCUS_STATIC, &table, 1)

/* Everybody writes everywhere, so that what is measured has been used. */
static void push_all(struct seat *s)
{
    CLOSED_BY(batch_free) struct batch all = batch_of_all(s->node);
    CHECK_EQ(locus_push(s->worker, all.keys, all.n, all.values), 0);
    seat_barrier(s);
    CHECK_EQ(locus_pull(s->worker, all.keys, all.n, all.values), 0);
}

/* ---- footprints ---- */

enum { WARM = 10 }; /* cycles after which nothing may grow */

/* After the first cycles, and in the middle of the others. */
struct growth {
    struct footprint warm, middle;
};

/* Before each of `count` cycles. */
static void growth_look(struct growth *g, int cycle, int count)
{
    if (cycle == WARM) g->warm = footprint_now();
    if (cycle == (WARM + count) / 2) g->middle = footprint_now();
}

/* A thread that was joined, and a connection that nng closes behind us, may show for a moment yet.
 * Memory that leaks grows all the time; the kernel's pages, which may be large ones, come at any
 * time, but once. */
static void growth_check(const struct growth *g)
{
    enum { RESIDENT_KB = 2048 };
    struct footprint now = footprint_now();
    const struct footprint *before = &g->warm;
    for (double end = now_s() + HANG_S; now_s() < end; now = footprint_now()) {
        if (now.descriptors <= before->descriptors && now.threads <= before->threads) break;
        sleep_s(0.05);
    }
    if (now.descriptors > before->descriptors || now.threads > before->threads)
        test_fail(__FILE__, __LINE__, "%ld descriptors and %ld threads, and %ld and %ld before",
                  now.descriptors, now.threads, before->descriptors, before->threads);
    if (IS_SANITIZED || g->middle.resident_kb <= before->resident_kb + RESIDENT_KB) return;
    if (now.resident_kb > g->middle.resident_kb + RESIDENT_KB)
        test_fail(__FILE__, __LINE__, "memory grew from %ld to %ld and to %ld KB",
                  before->resident_kb, g->middle.resident_kb, now.resident_kb);
}

/* ---- other ranks every time: the next rank 0 may come while the last one still leaves ---- */

ROLE(reopen_node)
{
    int place;
    struct team t = {TEAM(0)};
    CHECK_EQ(sscanf(arguments, "%d %d %31s", &place, &t.nodes, t.address), 3);
    struct growth growth = {0};
    int count = WARM + cycles() / 2;
    for (int i = 0; i < count; i++) {
        growth_look(&growth, i, count);
        team_run_node(&t, (place + i) % t.nodes, push_all);
    }
    growth_check(&growth);
}

TEST(reopen, by_processes_that_change_their_ranks_leaves_nothing)
{
    char address[ADDRESS_BYTES];
    struct child c[3];
    address_new(address);
    for (int i = 0; i < 3; i++) child_start(&c[i], "reopen_node", "%d 3 %s", i, address);
    for (int i = 0; i < 3; i++) child_wait(&c[i]);
}

/* ---- all nodes in one process ---- */

TEST(reopen, by_nodes_of_one_process_leaves_nothing)
{
    struct growth growth = {0};
    struct team t = {TEAM(3)};
    address_new(t.address);
    int count = WARM + cycles() / 4;
    for (int i = 0; i < count; i++) {
        growth_look(&growth, i, count);
        team_run(&t, push_all);
    }
    growth_check(&growth);
}

/* ---- opening that fails ---- */

TEST(reopen, after_open_failed_leaves_nothing)
{
    static const enum locus_technique techniques[] = {LOCUS_STATIC, LOCUS_ADAPTIVE};
    struct growth growth = {0};
    struct team t = {TEAM(2)};
    address_new(t.address);
    for (int i = 0; i < 6 * WARM; i++) {
        struct locus_config c = team_config(&t, i / 2 % 2);
        locus *n;
        growth_look(&growth, i / 2, 3 * WARM);
        c.technique = techniques[i % 2];
        c.join_timeout_s = 0.05;
        CHECK_EQ(locus_open(&c, &n), -ETIMEDOUT);
        CHECK(n == NULL);
    }
    growth_check(&growth);
}
