/*
 * platform_private.h - the nodes of a simulation, as the parts of the platform share them:
 * platform.c (shards and the network between them) and joined.c (what cluster.h promises).
 */
#ifndef BENCH_SCALE_PLATFORM_PRIVATE_H
#define BENCH_SCALE_PLATFORM_PRIVATE_H

#include "platform.h"

#include "actors/mailbox.h"
#include "actors/outbox.h"
#include "node/cluster.h"
#include "protocol/shard.h"
#include "sim/gathering.h"
#include "virtual.h"

struct frame {
    struct frame *next; /* that arrived at the same shard */
    unsigned from, to, shard;
    uint64_t arrived_ns;
    uint32_t capacity;
    struct wire_frame header;
    unsigned char *body;
};

struct reactor {
    struct shard shard;
    struct platform calls;
    unsigned node, number, workers;
    struct inbox {
        struct mailbox mailbox;
        struct request *current; /* taken out, and waiting for credit */
    } * inbox;                   /* [workers] */
    struct frame *first, *last;
    struct frame **open;  /* [nodes] under construction */
    uint64_t *spoke_ns;   /* [nodes] when a frame last left */
    struct outbox outbox; /* of the peers with an open frame */
    double now;           /* within a turn */
    /* of the frame that is served next: passes when the shard has looked at the clock */
    double owed;
    uint64_t busy_until;
    uint64_t turn_ns;     /* of the next turn, NEVER: none is due */
    uint64_t due_ns;      /* when the shard wants one */
    double signaled;      /* keys */
    bool completed;       /* something for a worker in this turn */
    bool is_over;         /* what is planned for it does not happen any more */
    struct reactor *next; /* of those that are over */
    struct platform_figures figures;
};

struct cluster {
    int rank;
    unsigned shards;
    struct reactor **reactor; /* [shards] */
    struct attendant attendant;
    bool leaves;
    uint64_t met_ns; /* when it hears that all have arrived */
};

struct simulation {
    unsigned nodes;
    struct model model;
    bool never_synchronizes;
    struct cluster *node[PLATFORM_NODES_MAX];
    struct attendant *attendant[PLATFORM_NODES_MAX];
    struct reactor *over;
    struct platform_figures last[PLATFORM_NODES_MAX]; /* of those that have left */
    double sends_until[PLATFORM_NODES_MAX], receives_until[PLATFORM_NODES_MAX]; /* cards */
};
extern struct simulation sim;

/* The reactor of a shard, which has its node and number. 0 or -ENOMEM. */
int platform_open_reactor(struct reactor *, const struct node_plan *);
/* Events may still name it: its memory stays to the end of the simulation. */
void platform_end_reactor(struct reactor *);

#endif
