/*
 * cluster.h - a program on all nodes of a modelled cluster, each from its own main(), in one
 * thread.
 *
 * Memory    all nodes' models and data
 * Waiting   never
 * Life      cluster_run once a process
 */
#ifndef BENCH_PAPERS_CLUSTER_H
#define BENCH_PAPERS_CLUSTER_H

#include "machine.h"

#include "common/programs.h"

enum { PAPERS_NODES_MAX = 64 };

struct papers {
    struct machine machine;
    unsigned nodes;
    bool acts_immediately, never_synchronizes;
    /* Clocks that loaders signal ahead; 0: as far as the programs have it. */
    size_t ahead;
    int argc; /* of the program: its name first */
    char **argv;
    const struct training_kind *program;
};

/* NULL: there is no such program. */
const struct training_kind *cluster_program(const char *name);
/* The exit status. At the end it prints what the time went into. */
int cluster_run(const struct papers *);

/* What the world (world.c) knows of it. */
void world_begin(const struct papers *);
/* Schedulers in it (scheduling.c). */
void scheduling_begin(const struct papers *);
/* One JSON line. */
void world_report(void);

#endif
