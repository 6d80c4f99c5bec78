/* Storms: everybody pushes at random, and every node reads exact sums afterwards. */
#include "sums.h"

#include <stdio.h>
#include <string.h>

enum { NODES_MAX = 4 };

static void storm(struct seat *s)
{
    const enum sums_keys *which = s->team->shared;
    sums_run(s, *which, test_seconds() / 5.0);
}

static struct team team_of(int nodes, unsigned workers, unsigned shards, enum sums_keys *which)
{
    return (struct team){.nodes = nodes,
                         .workers = workers,
                         .shards = shards,
                         .tables = sums_tables,
                         .table_count = SUMS_TABLES,
                         .shared = which};
}

static void storm_here(int nodes, unsigned workers, unsigned shards, enum sums_keys which)
{
    struct team t = team_of(nodes, workers, shards, &which);
    team_run(&t, storm);
}

TEST(storm, among_two_nodes)
{
    storm_here(2, 1, 1, SUMS_ALL_KEYS);
}

TEST(storm, among_workers_that_outnumber_cores)
{
    storm_here(2, 4, 4, SUMS_ALL_KEYS);
    storm_here(4, 4, 1, SUMS_ALL_KEYS);
}

TEST(storm, on_few_keys)
{
    storm_here(3, 2, 2, SUMS_FEW_KEYS);
}

ROLE(stormy)
{
    int rank, nodes, which;
    unsigned workers, shards;
    char address[ADDRESS_BYTES];
    CHECK_EQ(sscanf(arguments, "%d %d %u %u %d %31s", &rank, &nodes, &workers, &shards, &which, address), 6);
    enum sums_keys keys = (enum sums_keys)which;
    struct team t = team_of(nodes, workers, shards, &keys);
    memcpy(t.address, address, sizeof address);
    team_run_node(&t, rank, storm);
}

static void storm_among_processes(int nodes, unsigned workers, unsigned shards, enum sums_keys which)
{
    char address[ADDRESS_BYTES];
    struct child c[NODES_MAX];
    address_new(address);
    for (int i = 0; i < nodes; i++)
        child_start(&c[i], "stormy", "%d %d %u %u %d %s", i, nodes, workers, shards, (int)which, address);
    for (int i = 0; i < nodes; i++) child_wait(&c[i]);
}

TEST(storm, among_two_processes)
{
    storm_among_processes(2, 2, 2, SUMS_ALL_KEYS);
}

TEST(storm, among_four_processes)
{
    storm_among_processes(4, 2, 2, SUMS_FEW_KEYS);
}
