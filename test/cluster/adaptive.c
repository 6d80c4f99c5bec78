/* Storms under every technique: rows move and are replicated while everybody uses them; sums are exact afterwards. */
#include "sums.h"

#include <stdio.h>
#include <string.h>

enum { NODES_MAX = 4 };

struct kind {
    enum locus_technique technique;
    enum sums_keys keys;
};

static void storm(struct seat *s)
{
    const struct kind *k = s->team->shared;
    sums_run(s, k->keys, test_seconds() / 5.0);
}

static struct team stormy(int nodes, unsigned workers, unsigned shards, struct kind *k)
{
    return (struct team){.nodes = nodes,
                         .workers = workers,
                         .shards = shards,
                         .is_managed = true,
                         .technique = k->technique,
                         .tables = sums_tables,
                         .table_count = SUMS_TABLES,
                         .shared = k};
}

static void storm_here(int nodes, unsigned workers, unsigned shards, enum locus_technique technique,
                       enum sums_keys keys)
{
    struct kind k = {technique, keys};
    struct team t = stormy(nodes, workers, shards, &k);
    team_run(&t, storm);
}

TEST(adaptive, in_a_storm)
{
    storm_here(2, 2, 1, LOCUS_ADAPTIVE, SUMS_ALL_KEYS);
    storm_here(3, 1, 2, LOCUS_ADAPTIVE, SUMS_FEW_KEYS);
    storm_here(4, 2, 1, LOCUS_ADAPTIVE, SUMS_FEW_KEYS);
}

TEST(adaptive, by_relocation_only_in_a_storm)
{
    storm_here(3, 1, 2, LOCUS_RELOCATE, SUMS_FEW_KEYS);
}

TEST(adaptive, by_replication_only_in_a_storm)
{
    storm_here(2, 2, 1, LOCUS_REPLICATE, SUMS_ALL_KEYS);
    storm_here(3, 1, 2, LOCUS_REPLICATE, SUMS_FEW_KEYS);
}

TEST(adaptive, by_full_replication_in_a_storm)
{
    storm_here(2, 1, 1, LOCUS_FULL_REPLICATION, SUMS_ALL_KEYS);
    storm_here(3, 2, 2, LOCUS_FULL_REPLICATION, SUMS_FEW_KEYS);
}

ROLE(adapting)
{
    int rank, nodes, technique, which;
    unsigned workers, shards;
    char address[ADDRESS_BYTES];
    CHECK_EQ(sscanf(arguments, "%d %d %u %u %d %d %31s", &rank, &nodes, &workers, &shards, &technique, &which, address),
             7);
    struct kind k = {(enum locus_technique)technique, (enum sums_keys)which};
    struct team t = stormy(nodes, workers, shards, &k);
    memcpy(t.address, address, sizeof address);
    team_run_node(&t, rank, storm);
}

static void storm_among_processes(int nodes, unsigned workers, unsigned shards, struct kind k)
{
    char address[ADDRESS_BYTES];
    struct child c[NODES_MAX];
    address_new(address);
    for (int i = 0; i < nodes; i++)
        child_start(&c[i], "adapting", "%d %d %u %u %d %d %s", i, nodes, workers, shards, (int)k.technique, (int)k.keys,
                    address);
    for (int i = 0; i < nodes; i++) child_wait(&c[i]);
}

TEST(adaptive, among_processes)
{
    storm_among_processes(4, 2, 2, (struct kind){LOCUS_ADAPTIVE, SUMS_FEW_KEYS});
    storm_among_processes(3, 1, 1, (struct kind){LOCUS_ADAPTIVE, SUMS_ALL_KEYS});
}
