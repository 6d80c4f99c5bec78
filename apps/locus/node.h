/*
 * node.h - one node as the launcher has it: a keeper (keeper.c), and what it prints.
 *
 * Memory    descriptors, and the lines of its output
 * Waiting   never
 * Life      node_start, node_end or its own end, node_fini
 */
#ifndef LOCUS_RUN_NODE_H
#define LOCUS_RUN_NODE_H

#include "output.h"

#include <sys/types.h>

struct pinning_machine;

struct node {
    unsigned rank;
    pid_t pid;               /* of its keeper; 0: not started, or reaped */
    bool is_asked;           /* to end */
    int status;              /* how it ended; 0 before */
    bool is_lost;            /* it has failed, and the others go on */
    double began_s, again_s; /* when it was started; when it will be once more, 0: never */
    struct output out, err;
};

/* How nodes are started; the same for all. */
struct node_manner {
    char **argv; /* of the program, NULL at its end */
    double grace_s;
    bool shows_out, shows_err; /* with prefix, by us; otherwise they are inherited */
    unsigned nodes;
    const struct pinning_machine *machine; /* whose sockets they are kept on; NULL: on none */
    struct output_style out, err;
};

/* With our environment, and `input` as its stdin; -1: none. 0, or a status with a sentence. */
int node_start(struct node *, const struct node_manner *, int input);

/* Asks it to end, now or once more: at the second time its keeper kills at once. */
void node_end(struct node *);
/* The others have ended well: if it is stopped, it is lost, and ends. */
void node_end_stopped(const struct node *);
/* Does not ask. What the keeper leaves falls to this process. */
void node_kill(struct node *);
void node_fini(struct node *);

#endif
