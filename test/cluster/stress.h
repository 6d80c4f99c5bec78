/*
 * stress.h - a cluster under everything at once, whose outcome is known exactly: see stress.c.
 *
 *     int fd = stress_new(&(struct stress){.nodes = 2, .workers = 2, .shards = 1, .phases = 1});
 *     child_start(&c[i], "stress_node", "%d %d %s %s", fd, i, rendezvous, listen);
 *
 * Its nodes, in one process or in several, share what all have pushed so far.
 */
#ifndef LOCUS_TEST_STRESS_H
#define LOCUS_TEST_STRESS_H

#include "team.h"

/* What a seat does besides: intend at random; as with Petuum's SSP or ESSP intend what it misses,
 * for a while or for ever; as with NuPS keep few keys, and take that back now and then. */
enum stress_manner { STRESS_AT_RANDOM, STRESS_SSP, STRESS_ESSP, STRESS_KEEPS, STRESS_MANNERS };

struct stress {
    unsigned number, seed; /* the number is for messages */
    int nodes;
    unsigned workers, shards;
    enum locus_technique technique;
    char lab[32];           /* LOCUS_LAB */
    double peer_timeout_s;  /* 0: only who hangs is lost */
    unsigned phases, steps; /* at least so many in each */
    double seconds;         /* and for so long */
    unsigned few;           /* of so many keys of a table, mostly; 0: all alike */
    enum locus_conformity level;
    unsigned flags;
    bool has_loaders, reopens;
    enum stress_manner manner;
    enum locus_optimizer optimizer;
    enum locus_element element;
    /* bounds: clocks that a seat comes to in a phase, 0: it advances at random, and never waits */
    unsigned clocks;
    locus_clock staleness;
};

/* A descriptor, for children, too, in the role "stress_node"; its arguments are that, the rank, the
 * rendezvous' address, and where the node listens, if that matters. It says "open". */
int stress_new(const struct stress *);

#endif
