/* Rows that move while everybody uses them: exact sums, and what the statistics say. */
#include "sums.h"

#include <stdio.h>
#include <string.h>

enum { NODES_MAX = 4, ROWS = 1000, LENGTH = 16 };

static const struct locus_table rows_table[] = {{.rows = ROWS, .length = LENGTH}};

static void storm(struct seat *s)
{
    const enum sums_keys *which = s->team->shared;
    sums_run(s, *which, test_seconds() / 4.0);
}

static struct team stormy(int nodes, unsigned workers, unsigned shards, enum sums_keys *which)
{
    return (struct team){.nodes = nodes,
                         .workers = workers,
                         .shards = shards,
                         .is_managed = true,
                         .technique = LOCUS_RELOCATE,
                         .tables = sums_tables,
                         .table_count = SUMS_TABLES,
                         .shared = which};
}

static void storm_here(int nodes, unsigned workers, unsigned shards, enum sums_keys which)
{
    struct team t = stormy(nodes, workers, shards, &which);
    team_run(&t, storm);
}

TEST(relocate, in_a_storm_of_two_nodes)
{
    storm_here(2, 2, 1, SUMS_ALL_KEYS);
}

TEST(relocate, in_a_storm_on_few_keys)
{
    storm_here(3, 2, 2, SUMS_FEW_KEYS);
    storm_here(4, 1, 1, SUMS_FEW_KEYS);
}

ROLE(relocating)
{
    int rank, nodes, which;
    unsigned workers, shards;
    char address[ADDRESS_BYTES];
    CHECK_EQ(sscanf(arguments, "%d %d %u %u %d %31s", &rank, &nodes, &workers, &shards, &which, address), 6);
    enum sums_keys keys = (enum sums_keys)which;
    struct team t = stormy(nodes, workers, shards, &keys);
    memcpy(t.address, address, sizeof address);
    team_run_node(&t, rank, storm);
}

static void storm_among_processes(int nodes, unsigned workers, unsigned shards, enum sums_keys which)
{
    char address[ADDRESS_BYTES];
    struct child c[NODES_MAX];
    address_new(address);
    for (int i = 0; i < nodes; i++)
        child_start(&c[i], "relocating", "%d %d %u %u %d %s", i, nodes, workers, shards, (int)which, address);
    for (int i = 0; i < nodes; i++) child_wait(&c[i]);
}

TEST(relocate, among_four_processes)
{
    storm_among_processes(4, 2, 2, SUMS_FEW_KEYS);
    storm_among_processes(3, 1, 2, SUMS_ALL_KEYS);
}

/* Each node in turn takes all rows, adds to each, and owns them all. */
static void go_round(struct seat *s)
{
    static const float one[LENGTH] = {1};
    struct batch all = batch_of_all(s->node);
    for (int round = 0; round < 2 * s->seats; round++) {
        if (round % s->seats == s->number) {
            CHECK_EQ(locus_localize(s->worker, all.keys, all.n), 0);
            struct locus_stats stats = stats_of(s->node);
            CHECK_EQ(stats.owned_now, ROWS);
            CHECK_EQ(locus_owned(s->node, 0, all.keys, ROWS), ROWS);
            for (size_t i = 0; i < all.n; i++) CHECK_EQ(locus_push(s->worker, &all.keys[i], 1, one), 0);
            CHECK_EQ(stats_of(s->node).pushed_remote, 0);
        }
        seat_barrier(s);
        CHECK_EQ(locus_pull(s->worker, all.keys, all.n, all.values), 0);
        BATCH_FOREACH(c, &all)
        {
            CHECK_EQ(c.row[0], round + 1);
            CHECK_EQ(c.row[1], 0);
        }
        seat_barrier(s);
    }
    struct locus_histogram h;
    CHECK_EQ(locus_histogram_read(s->node, LOCUS_RELOCATION_TIME, &h), 0);
    CHECK(h.sum > 0);
    batch_free(&all);
}

TEST(relocate, in_turn)
{
    team_run(&(struct team){.nodes = 3,
                            .workers = 1,
                            .shards = 2,
                            .is_managed = true,
                            .technique = LOCUS_RELOCATE,
                            .tables = rows_table,
                            .table_count = 1},
             go_round);
}

/* Without localize nothing moves. */
static void only_access(struct seat *s)
{
    struct batch all = batch_of_all(s->node);
    CHECK_EQ(locus_push(s->worker, all.keys, all.n, all.values), 0);
    CHECK_EQ(locus_pull(s->worker, all.keys, all.n, all.values), 0);
    struct locus_stats stats = stats_of(s->node);
    CHECK_EQ(stats.relocated_in + stats.relocated_out + stats.forwards, 0);
    batch_free(&all);
}

TEST(relocate, only_when_asked)
{
    team_run(&(struct team){.nodes = 2,
                            .workers = 1,
                            .shards = 1,
                            .is_managed = true,
                            .technique = LOCUS_RELOCATE,
                            .tables = rows_table,
                            .table_count = 1},
             only_access);
}
