/*
 * bench.h - what the parts of the scale benchmark share: the cells, what is measured, and the
 * results.
 *
 * Each cell is a process of its own: hundreds of nodes of the real library in one thread, on the
 * platform of platform.h. Virtual time does not depend on the machine, so a cell gives the same
 * figures each time, but for `engine` and memory.
 *
 * Memory    one struct bench, static
 */
#ifndef BENCH_SCALE_H
#define BENCH_SCALE_H

#include "model.h"
#include "platform.h"

#include "../common/cells.h"
#include "../common/must.h"
#include "../common/run.h"

#include "locus.h"

#include <stdint.h>

/* ---- Cells (select.c) ---- */

enum workload {
    SKEWED, /* all nodes draw from the same Zipf distribution over all rows */
    OWN,    /* each node from its own slice of them */
    SHARED, /* few rows, which all nodes keep and change with every clock */
    WORKLOADS,
};
extern const char *const workload_names[WORKLOADS];

struct cell {
    enum workload workload;
    unsigned nodes, keys; /* SHARED: rows */
    bool in_quick;
};
const struct cell *cell_at(unsigned number);
extern const struct cells cells;

/* The load of a node, whatever their number. */
struct load {
    unsigned rows, length, keys, period_us, offset, clocks, max_rounds;
};

/* ---- What is measured: of the timed part, the mean of the nodes; NAN: a cell has none - */

enum metric {
    SECONDS,
    CLOCKS,  /* a second */
    REMOTE,  /* share of the accesses that went to another node */
    REPLICA, /* share that was done on a replica */
    BYTES,   /* sent, a second */
    MESSAGES,
    HEARTBEATS, /* of links that say nothing else: link.c */
    ROUNDS,
    MOVED,
    COPIED,
    COPIES,  /* replicas of a key, mean over time and all keys */
    HOLDERS, /* nodes with a replica of the hottest row, mean over time */
    HEARD,   /* seconds since the owner's last frame, over time and replicas */
    STALE,   /* seconds since the oldest update that a pull of a hot row does not show */
    SHARD,   /* seconds of the shard's modelled processor time, a second */
    POLLING,
    SHARD_MAX, /* of the busiest node */
    BYTES_MAX,
    LATE,    /* seconds from a frame's arrival until it is served */
    ENGINE,  /* seconds of this machine's processor for the shard's code, a virtual second */
    PEERS,   /* other nodes that a node spoke with */
    UPDATES, /* entries sent, a second: WIRE_SYNC, */
    ANSWERS, /* WIRE_ANSWER, */
    REFRESHES,
    ROWS,
    OTHERS,           /* and all the rest */
    QUIESCE,          /* seconds that locus_quiesce takes after the last clock, */
    QUIESCE_MESSAGES, /* and what a node sends for it */
    MEMORY,           /* bytes of this process a node */
    /* SHARED: the same by recursive doubling, in as much processor time as the busiest shard has
     * (tree.h); and how often staler the library's is */
    TREE_STALE,
    TREE_BYTES,
    TREE_GAIN,
    METRICS,
};
extern const char *const metric_names[METRICS];

struct result {
    bool measured;
    double value[METRICS];
    double host_s; /* this cell took */
};

struct bench {
    struct run run;
    struct model model;
    struct load load;
    struct result *results; /* of the cells; shared with their processes */
};

/* ---- A node (node.c) ---- */

struct node {
    const struct bench *bench;
    const struct cell *cell;
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
/* The cell's own where it has one. */
struct load load_of(const struct bench *b, const struct cell *c); /* select.c */
void node_open(struct node *n);
void node_run(void *node); /* a fiber */

/* ---- How old what is read is (lag.c): row 0 to LAG_ROWS-1 count their pushes ---- */

enum { LAG_ROWS = 32 };
void lag_pushed(locus_key key);
/* `count`: pushes that the row shows. */
void lag_pulled(locus_key key, float count);
double lag_mean_s(void);
void lag_begin(void); /* the timed part */

/* ---- Results ---- */

void cell_measure(void *bench, unsigned number, unsigned repetition); /* run.c */
void report_cells(struct bench *b);                                   /* report.c */

#endif
