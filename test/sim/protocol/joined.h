/*
 * joined.h - what cluster.h promises, between simulated nodes that are all in this process.
 *
 * Callers   the library; a platform, which has the reactors and the network between them
 * Memory    its own
 * Waiting   as fibers
 * Life      cluster.h
 */
#ifndef LOCUS_SIM_JOINED_H
#define LOCUS_SIM_JOINED_H

#include "cluster/cluster.h"

enum { JOINED_NODES_MAX = 256, JOINED_CHANGES = 8 };

struct cluster {
    int rank, size;
    unsigned shards, workers;
    struct reactor **reactor; /* [shards] */
    void (*lost)(void *context);
    void *context;
    bool is_lost;     /* it has heard of a loss that ends its calls */
    bool is_gone;     /* it was lost, and the others survive that: they do not wait for it */
    bool is_newcomer; /* it came later: they do not wait for it either */
    uint32_t view;    /* changes that the others survive */
    uint64_t view_ns[JOINED_CHANGES + 1]; /* when it hears of each, in order */
    uint32_t came_by,
        gone_by; /* the changes by which it came later, and was lost or left; 0: none */
    unsigned lost_rank;
    uint64_t loss_ns;    /* when the news of a loss arrives, UINT64_MAX: never */
    uint64_t stopped_ns; /* its shards do nothing before */
    bool leaves;
    bool arrived, absent; /* of a meeting */
    bool goes_on;         /* the next one belongs to it */
    struct word word;     /* its own until all have arrived, then that of all */
    uint64_t met_ns;      /* when it hears that all have arrived */
    uint64_t traced_ns;   /* when its trace last took what there was */
};

/* By rank; NULL: it is not there yet, or has left. */
extern struct cluster *joined[JOINED_NODES_MAX];

/* A node is gone: perhaps all others have arrived. */
void joined_look_for_meeting(unsigned nodes);

/* When the last meeting was over for who decides that. */
uint64_t joined_met_ns(void);

/* After turns: a node's trace has no thread here. */
void joined_trace(unsigned node, uint64_t now_ns);

/* ---- what a platform does ---- */

extern const bool platform_shares_cores;
uint64_t platform_now_ns(void);
/* Sets c->reactor[number]. 0 or a negative errno. */
int platform_open_reactor(struct cluster *c, const struct node_plan *, unsigned number);
void platform_end_reactor(struct cluster *c, unsigned number);
/* All have arrived now: when does the node hear of it? */
uint64_t platform_hears_ns(unsigned node);
/* The node wants to leave. */
void platform_leaves(struct cluster *);

#endif
