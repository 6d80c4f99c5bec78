/*
 * storms.h - sums.h's workload on a whole cluster, under any technique: everybody pushes, pulls,
 * localizes and has intent at random, and every seat reads exact sums afterwards.
 *
 *     storm_here((struct storm){2, 2, 1, LOCUS_ADAPTIVE, SUMS_FEW_KEYS});
 *
 * Callers   the tests of techniques; each says what it lets loose
 * Waiting   until the storm is over, which is a fifth of test_seconds() and what the comparison
 *           takes
 */
#ifndef LOCUS_TEST_STORMS_H
#define LOCUS_TEST_STORMS_H

#include "sums.h"

struct storm {
    int nodes; /* at most 4 among processes */
    unsigned workers, shards;
    enum locus_technique technique;
    enum sums_keys keys;
    struct sums_clocks clocks; /* of none: for a time, without bounds */
};

/* All nodes in this process. */
void storm_here(struct storm);
/* A process for each node. */
void storm_among_processes(struct storm);

#endif
