/*
 * bench.h - what the parts of the adaptive benchmark share: the cells, what a node measures, and
 * the results.
 *
 * Each cell has a cluster of its own: processes on this machine's loopback, one worker each, opened
 * with the cell's technique. The benchmark itself is none of them; it starts them, tells them to
 * begin, and asks for what they measured.
 *
 * Memory    one struct bench, static; rows and keys live as long as a cell's processes
 */
#ifndef BENCH_ADAPTIVE_H
#define BENCH_ADAPTIVE_H

#include "../common/latency.h"
#include "../common/must.h"
#include "../common/node_process.h"
#include "../common/cells.h"

#include "locus.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { NODES_MAX = 4, BATCH_KEYS = 100, CALL_KEYS = 64 };

/* ---- Cells (select.c) ---- */

enum workload {
    /* all nodes draw from the same Zipf distribution: hot row references that all share, and a long
     * tail */
    SKEWED,
    OWN,    /* each node draws from rows of its own */
    TURNS,  /* the same rows, one node after the other */
    IDLE,   /* rows with replicas at all nodes, which nobody uses */
    PUSHED, /* the same, and every node pushes at full speed */
    /* what pulls and pushes of replicas cost next to a plain array, while the other node pushes */
    COSTS,
    ARRIVAL, /* from an intent whose clock is now until its rows are here */
    WORKLOADS,
};

struct cell {
    enum workload workload;
    unsigned nodes;
    enum locus_technique technique;
    bool immediate;  /* acts on intents when they are signaled */
    unsigned offset; /* clocks between signal and use */
    /* of a clock; 0: as fast as it goes. ARRIVAL: a pause between two intents */
    unsigned period_us;
    uint64_t rows; /* ARRIVAL: of an intent */
    uint32_t length;
    bool in_quick;
};

const struct cell *cell_at(unsigned number); /* NULL: there is no such cell */
extern const struct cells cells;
/* How long, and of how many rows, in a quick run or a real one. */
uint64_t rows_of(const struct cell *c, bool is_quick);
unsigned clocks_of(const struct cell *c, bool is_quick);
double seconds_of(bool is_quick);

/* ---- What is measured: by each node; NAN when a cell has no such thing ---- */

enum metric {
    SECONDS,  /* of the timed part */
    ACCESSES, /* keys pulled and pushed */
    REMOTE,   /* share of them that went to another node */
    REPLICA,  /* share of them that were done on a replica */
    SENT,     /* bytes */
    MESSAGES,
    MOVED,  /* rows that came */
    COPIED, /* replicas that were made */
    LEFT,   /* replicas in the end */
    ROUNDS, /* begun */
    HEARD,  /* seconds since the owner's last frame, over time and replicas */
    /* seconds since the other node made the value that a replica shows, mean; measured by stamps in
     * rows */
    STALE,
    SHARD_CPU, /* seconds of processor time of the shards' threads */
    CPU,       /* of the process */
    PUSHES,    /* keys a second */
    PULL_X,
    PUSH_X,
    PULL1_X,
    PUSH1_X, /* times a plain array; 64 keys a call and 1 */
    SHORTEST,
    P50,
    P99,
    P999, /* seconds a call */
    METRICS,
};
extern const char *const metric_names[METRICS];

struct outcome {
    double value[METRICS];
};

/* ---- A node (node.c) ---- */

struct node {
    locus *locus;
    locus_worker *worker;
    const struct cell *cell;
    bool is_quick;
    int rank;
    uint64_t base_ns; /* the same moment at all nodes */
    double until_s;   /* processor time of shards at the beginning of the timed part */
    struct node_figures before;
    struct outcome *outcome;
};

/* the arguments: cell, rank, rendezvous, --quick or nothing */
int node_main(int argc, char **argv);
/* The timed part: from begin to end. What it used goes to the outcome. */
void timed_begin(struct node *n);
void timed_end(struct node *n);
/* The keys of the table that other nodes have; *count of them. From malloc. */
locus_key *keys_elsewhere(struct node *n, size_t *count);
void sleep_until(uint64_t ns);

void epoch_run(struct node *n);    /* SKEWED, OWN */
void turns_run(struct node *n);    /* TURNS */
void replicas_run(struct node *n); /* IDLE, PUSHED, COSTS */
void arrival_run(struct node *n);  /* ARRIVAL */
double shards_cpu_s(void);         /* of the threads of this process that are shards */

enum { NODE_BEGIN = 1, NODE_OUTCOME, NODE_LEAVE };

/* ---- Results ---- */

struct result {
    bool measured;
    double value[METRICS][REPETITIONS_MAX]; /* mean of all nodes */
};

struct bench {
    struct run run;
    struct result *results; /* of the cells */
};

void cell_measure(void *bench, unsigned number, unsigned repetition); /* cells.c */
void report_cells(struct bench *b);                                   /* report.c */

#endif
