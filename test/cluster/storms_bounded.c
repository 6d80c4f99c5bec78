/*
 * Storms with bounds on staleness, among two and four processes: each technique, and what SSP, ESSP
 * and NuPS are here. Sums are exact afterwards.
 *
 * LOCUS_STORMS=N repeats each N times.
 */
#include "storms.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned repeats(void)
{
    const char *text = getenv("LOCUS_STORMS");
    unsigned long n = text ? strtoul(text, NULL, 10) : 1;
    return n > 0 ? (unsigned)n : 1;
}

static void repeat(struct storm s)
{
    for (unsigned i = 0, n = repeats(); i < n; i++) {
        s.keys = i % 2 ? SUMS_ALL_KEYS : SUMS_FEW_KEYS;
        storm_among_processes(s);
        if (n > 1) printf("storm %u of %u\n", i + 1, n);
        fflush(stdout);
    }
}

static struct storm storm(int nodes, enum locus_technique technique, enum sums_manner manner,
                          unsigned staleness)
{
    return (struct storm){
        .nodes = nodes,
        .workers = 2,
        .shards = 1 + (unsigned)nodes % 4 / 2,
        .technique = technique,
        .clocks = {.manner = manner, .clocks = IS_SANITIZED ? 4 : 12, .staleness = staleness}};
}

#define STORM(name, technique, manner, staleness) \
    TEST(storms_bounded, name##_among_two) \
    { \
        repeat(storm(2, technique, manner, staleness)); \
    } \
    TEST(storms_bounded, name##_among_four) \
    { \
        repeat(storm(4, technique, manner, staleness)); \
    }

STORM(ssp, LOCUS_REPLICATE, SUMS_SSP, 1)
STORM(essp, LOCUS_REPLICATE, SUMS_ESSP, 1)
STORM(lockstep, LOCUS_ADAPTIVE, SUMS_SSP, 0)
STORM(nups, LOCUS_RELOCATE, SUMS_KEEPS, 2)
STORM(adaptive, LOCUS_ADAPTIVE, SUMS_KEEPS, 3)
STORM(static, LOCUS_STATIC, SUMS_AT_RANDOM, 1)
STORM(full, LOCUS_FULL_REPLICATION, SUMS_AT_RANDOM, 1)
