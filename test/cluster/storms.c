#include "storms.h"

#include <stdio.h>
#include <string.h>

enum { NODES_MAX = 4 };

static void body(struct seat *s)
{
    const struct storm *storm = s->team->shared;
    if (storm->clocks.clocks)
        sums_run_clocks(s, storm->keys, storm->clocks);
    else
        sums_run(s, storm->keys, test_seconds() / 5.0);
}

static struct team team_of(struct storm *s)
{
    return (struct team){.nodes = s->nodes,
                         .workers = s->workers,
                         .shards = s->shards,
                         .is_managed = true,
                         .technique = s->technique,
                         /* who waits for others' clocks is as slow as the slowest of all */
                         .peer_timeout_s = s->clocks.clocks ? HANG_S : 0,
                         .tables = sums_tables,
                         .table_count = SUMS_TABLES,
                         .shared = s};
}

void storm_here(struct storm s)
{
    struct team t = team_of(&s);
    team_run(&t, body);
}

ROLE(stormy)
{
    int rank, technique, keys, manner;
    struct storm s = {0};
    char address[ADDRESS_BYTES];
    CHECK_EQ(sscanf(arguments, "%d %d %u %u %d %d %d %u %u %31s", &rank, &s.nodes, &s.workers,
                    &s.shards, &technique, &keys, &manner, &s.clocks.clocks, &s.clocks.staleness,
                    address),
             10);
    s.clocks.manner = (enum sums_manner)manner;
    s.technique = (enum locus_technique)technique;
    s.keys = (enum sums_keys)keys;
    struct team t = team_of(&s);
    memcpy(t.address, address, sizeof address);
    team_run_node(&t, rank, body);
}

void storm_among_processes(struct storm s)
{
    char address[ADDRESS_BYTES];
    struct child c[NODES_MAX];
    CHECK(s.nodes <= NODES_MAX);
    address_new(address);
    for (int i = 0; i < s.nodes; i++)
        child_start(&c[i], "stormy", "%d %d %u %u %d %d %d %u %u %s", i, s.nodes, s.workers,
                    s.shards, (int)s.technique, (int)s.keys, (int)s.clocks.manner, s.clocks.clocks,
                    s.clocks.staleness, address);
    for (int i = 0; i < s.nodes; i++) child_wait(&c[i]);
}
