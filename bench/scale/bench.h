/*
 * bench.h - what the parts of the scale benchmark share: the cells, the nodes, and how old what
 * they read is.
 *
 * Memory    static
 */
#ifndef BENCH_SCALE_H
#define BENCH_SCALE_H

#include "model.h"
#include "platform.h"

#include "../common/must.h"

#include "locus.h"

#include <stdbool.h>
#include <stdint.h>

enum workload {
    SKEWED, /* all nodes draw from the same Zipf distribution over all rows */
    OWN,    /* each node from its own slice of them */
    SHARED, /* few rows, which all nodes keep and change with every clock */
};

struct kind {
    enum workload workload;
    unsigned nodes, keys; /* SHARED: rows */
    bool in_quick;
};

/* The load of a node, whatever their number. */
struct load {
    unsigned rows, length, keys, period_us, offset, clocks;
};

extern struct model model;

/* ---- A node (node.c) ---- */

struct node {
    const struct kind *kind;
    struct load load;
    locus *locus;
    locus_worker *worker;
    unsigned rank;
    struct locus_stats before, used;
    struct platform_figures figures_before, figures;
    uint64_t began_ns;
    unsigned peers;
    double seconds, quiesce_s, quiesce_messages, copies, holders; /* sums over the looks */
    uint64_t looks;
};
void node_open(struct node *n);
void node_run(void *node); /* a fiber */

/* Seconds since the oldest push that a pull of a hot row does not show, mean of all nodes. */
double lag_mean_s(void);

#endif
