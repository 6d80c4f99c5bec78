/*
 * Storms: sums.h's workload on a whole cluster, a process for each node, under every technique:
 * everybody pushes, pulls, localizes and has intent at random, with bounds on staleness (what SSP,
 * ESSP and NuPS are here) and without, on tables with optimizers and without. Every seat reads exact
 * sums and states afterwards. In one process tempest does it.
 *
 * LOCUS_STORMS=N repeats each N times. One without bounds takes a fifth of test_seconds().
 */
#include "sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3 };

struct storm {
    int nodes;
    unsigned workers, shards;
    enum locus_technique technique;
    enum sums_keys keys;
    enum locus_optimizer optimizer;
    enum locus_element element;
    struct sums_clocks clocks; /* of none: for a time, without bounds */
    struct locus_table tables[SUMS_TABLES];
};

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
    sums_tables_with(s->optimizer, s->element, s->tables);
    /* who waits for others' clocks is as slow as the slowest of all */
    double patience_s = s->clocks.clocks ? HANG_S : 0;
    return (struct team){
        TEAM_OF(s->nodes, s->workers, s->shards, s->technique, s->tables, SUMS_TABLES), .shared = s,
        .peer_timeout_s = patience_s};
}

ROLE(stormy)
{
    int rank, technique, keys, optimizer, element, manner;
    struct storm s = {0};
    char address[ADDRESS_BYTES];
    CHECK_EQ(sscanf(arguments, "%d %d %u %u %d %d %d %d %d %u %u %31s", &rank, &s.nodes, &s.workers,
                    &s.shards, &technique, &keys, &optimizer, &element, &manner, &s.clocks.clocks,
                    &s.clocks.staleness, address),
             12);
    s.clocks.manner = (enum sums_manner)manner;
    s.technique = (enum locus_technique)technique;
    s.keys = (enum sums_keys)keys;
    s.optimizer = (enum locus_optimizer)optimizer;
    s.element = (enum locus_element)element;
    struct team t = team_of(&s);
    memcpy(t.address, address, sizeof address);
    team_run_node(&t, rank, body);
}

static void among_processes(struct storm s)
{
    char address[ADDRESS_BYTES];
    struct child c[NODES];
    address_new(address);
    for (int i = 0; i < s.nodes; i++)
        child_start(&c[i], "stormy", "%d %d %u %u %d %d %d %d %d %u %u %s", i, s.nodes, s.workers,
                    s.shards, (int)s.technique, (int)s.keys, (int)s.optimizer, (int)s.element,
                    (int)s.clocks.manner, s.clocks.clocks, s.clocks.staleness, address);
    for (int i = 0; i < s.nodes; i++) child_wait(&c[i]);
}

enum { UNBOUNDED = 1000000 };

static unsigned repeats(void)
{
    const char *text = getenv("LOCUS_STORMS");
    unsigned long n = text ? strtoul(text, NULL, 10) : 1;
    return n > 0 ? (unsigned)n : 1;
}

static void repeat(struct storm s)
{
    for (unsigned i = 0, n = repeats(); i < n; i++) {
        s.keys = (i + (s.clocks.clocks == 0)) % 2 ? SUMS_ALL_KEYS : SUMS_FEW_KEYS;
        among_processes(s);
        if (n > 1) printf("storm %u of %u\n", i + 1, n);
        fflush(stdout);
    }
}

static void storm(enum locus_technique technique, enum sums_manner manner, unsigned staleness,
                  enum locus_optimizer optimizer, enum locus_element element)
{
    unsigned clocks = staleness == UNBOUNDED ? 0 : IS_SANITIZED ? 4 : 12;
    repeat((struct storm){.nodes = NODES,
                          .workers = 2,
                          .shards = 2,
                          .technique = technique,
                          .optimizer = optimizer,
                          .element = element,
                          .clocks = {.manner = manner, .clocks = clocks, .staleness = staleness}});
}

#define STORM(name, technique, manner, staleness, optimizer, element) \
    TEST(storms, name) \
    { \
        storm(technique, manner, staleness, optimizer, element); \
    }

STORM(ssp, LOCUS_REPLICATE, SUMS_SSP, 1, LOCUS_ADAM, LOCUS_F32)
STORM(essp, LOCUS_REPLICATE, SUMS_ESSP, 1, LOCUS_NO_OPTIMIZER, LOCUS_F32)
STORM(lockstep, LOCUS_ADAPTIVE, SUMS_SSP, 0, LOCUS_MOMENTUM, LOCUS_F32)
STORM(nups, LOCUS_RELOCATE, SUMS_KEEPS, 2, LOCUS_ADAGRAD, LOCUS_F32)
STORM(adaptive, LOCUS_ADAPTIVE, SUMS_KEEPS, 3, LOCUS_NO_OPTIMIZER, LOCUS_F32)
STORM(static, LOCUS_STATIC, SUMS_AT_RANDOM, 1, LOCUS_SGD, LOCUS_F32)
STORM(full, LOCUS_FULL_REPLICATION, SUMS_AT_RANDOM, 1, LOCUS_ROW_ADAGRAD, LOCUS_BF16)
STORM(static_unbounded, LOCUS_STATIC, SUMS_AT_RANDOM, UNBOUNDED, LOCUS_NO_OPTIMIZER, LOCUS_F32)
STORM(relocating, LOCUS_RELOCATE, SUMS_AT_RANDOM, UNBOUNDED, LOCUS_ADAMW, LOCUS_F32)
STORM(replicating, LOCUS_REPLICATE, SUMS_AT_RANDOM, UNBOUNDED, LOCUS_NO_OPTIMIZER, LOCUS_F32)
STORM(adaptive_unbounded, LOCUS_ADAPTIVE, SUMS_AT_RANDOM, UNBOUNDED, LOCUS_ADAM, LOCUS_F32)
