/*
 * advice.h - what a program could do better with intents, said once.
 *
 * A worker whose accesses keep going to other nodes waits for the network, and its user seldom
 * knows why: it signals no intent, signals too late, or never advances the clock at which its
 * intents begin. So where many keys are accessed at other nodes, each worker looks at its own
 * counters every ADVICE_S seconds. The node says on stderr what it finds, each kind once, and
 * counts it (locus_stats).
 *
 *     LOCUS_ADVICE=0     nothing is said, and nothing counted
 *     LOCUS_ADVICE=60    looks every 60 s
 *
 * Callers   locus.c opens it; access.c, on the worker's thread
 * Memory    in the node and its workers
 * Waiting   never, but for stderr
 * Life      advisor_init; advice_look any number of times
 */
#ifndef LOCUS_ADVICE_H
#define LOCUS_ADVICE_H

#include "locus.h"

#include <stdbool.h>
#include <stdint.h>

enum advice { ADVICE_NONE, ADVICE_INTEND, ADVICE_EARLIER, ADVICE_ADVANCE, ADVICE_KINDS };

enum {
    ADVICE_S = 10,
    ADVICE_KEYS_MIN = 1024, /* at other nodes, within a window: fewer cost little */
    ADVICE_SHARE = 8,       /* and at least one in so many of all */
};

/* What a worker has done since it was opened. */
struct advice_sums {
    uint64_t ns; /* CLOCK_MONOTONIC */
    uint64_t keys, remote;
    uint64_t signaled; /* keys, its loaders' too */
    uint64_t late;     /* of the whole node */
    locus_clock clock;
    bool is_doubtful; /* the window that ended here may have been the beginning of an evaluation */
};

struct advisor {
    uint64_t window_ns;           /* 0: no advice */
    uint64_t found[ADVICE_KINDS]; /* how often, over all workers; atomic */
};

/* 0, or -EINVAL with the sentence when LOCUS_ADVICE is no number of seconds. */
int advisor_init(struct advisor *);

/* What would have helped between two looks? */
enum advice advice_between(const struct advice_sums *from, const struct advice_sums *to);

/* If a window is over, says and counts what it shows, and begins the next: *from is `to` then. */
void advice_look(struct advisor *, int rank, int worker, struct advice_sums *from,
                 const struct advice_sums *to);

#endif
