/*
 * advice.h - tells a program, once, how it could use intents better.
 *
 * A worker whose accesses keep going to other nodes waits for the network, and its user rarely
 * knows why: it signals no intents, signals them too late, or never advances its clock, so that its
 * intents never begin. So if many keys are accessed at other nodes, or few that make many calls
 * wait, each worker looks at its own counters every ADVICE_S seconds. The node reports each kind of
 * finding once on stderr, and counts all of them (locus_stats).
 *
 *     LOCUS_ADVICE=0 reports and counts nothing LOCUS_ADVICE=60 looks every 60 s
 *
 * Callers   the worker's thread; advisor_init: the thread that opens the node
 * Memory    in the node and its workers
 * Waiting   never, except for stderr
 * Life      advisor_init; advice_look any number of times
 */
#ifndef LOCUS_WORKER_ADVICE_H
#define LOCUS_WORKER_ADVICE_H

#include "locus.h"

#include <stdbool.h>
#include <stdint.h>

enum advice { ADVICE_NONE, ADVICE_INTEND, ADVICE_EARLIER, ADVICE_ADVANCE, ADVICE_KINDS };

enum {
    ADVICE_S = 10,
    /* within a window, at other nodes: fewer cost little, unless calls wait for them often: a
     * start has some long waits */
    ADVICE_KEYS_MIN = 1024,
    ADVICE_WAITS_MIN = 32,
    /* and at least one in this many of all keys, or of the time in waits: one late key makes a call
     * of many wait */
    ADVICE_SHARE = 8,
};

/* What a worker has done since it was opened. */
struct advice_sums {
    uint64_t ns; /* CLOCK_MONOTONIC */
    uint64_t keys, remote;
    uint64_t waited_ns; /* of its calls, for other nodes */
    uint64_t waits;     /* how often */
    uint64_t signaled;  /* keys, its loaders' too */
    uint64_t late;      /* of the whole node */
    uint64_t drawn;     /* keys of samples that were chosen when they were pulled */
    locus_clock clock;
    bool is_doubtful; /* the window that ended may have been the beginning of an evaluation */
};

struct advisor {
    uint64_t window_ns;           /* 0: no advice */
    bool is_crowded;              /* the host has fewer processors than its nodes have threads */
    uint64_t found[ADVICE_KINDS]; /* how often, over all workers; atomic */
};

/* 0, or -EINVAL with the sentence if LOCUS_ADVICE is not a number of seconds. */
int advisor_init(struct advisor *);

/* What would have helped between two looks? */
enum advice advice_between(const struct advice_sums *from, const struct advice_sums *to);

/* What happened between two looks does not count: the window is as if it had not been. */
void advice_skip(struct advice_sums *from, const struct advice_sums *first,
                 const struct advice_sums *last);

/* If a window is over, reports and counts its finding, and begins the next: then *from is `to`. */
void advice_look(struct advisor *, int rank, int worker, struct advice_sums *from,
                 const struct advice_sums *to);

#endif
