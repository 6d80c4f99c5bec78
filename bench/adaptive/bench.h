/*
 * bench.h - what the parts of the adaptive benchmark share: what a cell's nodes do, and what they
 * measure.
 *
 * Memory    rows and keys live as long as a cell's processes
 */
#ifndef BENCH_ADAPTIVE_H
#define BENCH_ADAPTIVE_H

#include "../common/cluster.h"
#include "../common/latency.h"
#include "../common/must.h"

#include "locus.h"

#include <stdbool.h>
#include <stdint.h>

enum { NODES_MAX = 4, BATCH_KEYS = 100, CALL_KEYS = 64 };

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
};

struct load {
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

/* What a node measures; the others have other things. */
struct outcome {
    unsigned count;
    struct {
        char name[32];
        double value;
    } figure[32];
};

/* ---- A node (node.c) ---- */

struct node {
    locus *locus;
    locus_worker *worker;
    const struct load *load;
    int rank;
    double seconds;   /* of the timed part; 0: all of it, until timed_end() */
    uint64_t base_ns; /* the same moment at all nodes */
    uint64_t own_ns;  /* the worker's processor time at the beginning of the timed part */
    struct node_figures before;
    struct outcome outcome;
};

int node_main(const struct load *, const struct cluster_node *);
/* What is no number is no figure. */
void note(struct node *n, const char *name, double value);
void note_percentile(struct node *n, const char *name, const struct latency *times, double percent);
/* How long, in a quick run or a real one. */
double seconds_of_part(void);
/* The timed part: from begin to end. What it used goes to the outcome. */
void timed_begin(struct node *n);
void timed_end(struct node *n);
/* The keys of the table that other nodes have; *count of them. From malloc. */
locus_key *keys_elsewhere(struct node *n, size_t *count);
/* For `count` rows. From malloc. */
float *values_alloc(const struct node *n, size_t count);

void epoch_run(struct node *n);    /* SKEWED, OWN */
void turns_run(struct node *n);    /* TURNS */
void replicas_run(struct node *n); /* IDLE, PUSHED, COSTS */
void arrival_run(struct node *n);  /* ARRIVAL */

enum { NODE_BEGIN = 1, NODE_OUTCOME, NODE_LEAVE };

#endif
