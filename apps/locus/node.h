/*
 * node.h - one node as the launcher has it: a keeper (keeper.c) on this host, or ssh that runs one
 * on another, the stream by which it is told what to do, and what it prints.
 *
 * Memory    descriptors, and the lines of its output
 * Waiting   never; beats_hold for a beat to end, which is never long
 * Life      node_start, node_end or its own end, node_fini; of beats init, start, hold and go_on,
 *           stop
 */
#ifndef LOCUS_RUN_NODE_H
#define LOCUS_RUN_NODE_H

#include "control.h"
#include "hosts.h"
#include "output.h"

#include <pthread.h>
#include <sys/types.h>

struct pinning_machine;

struct node {
    unsigned rank;
    const struct host *host; /* NULL: this one */
    pid_t pid;               /* of keeper or ssh; 0: not started, or reaped */
    int control;             /* -1: closed */
    struct output out, err;
};

/* How nodes are started; the same for all. */
struct node_manner {
    const char *ssh;           /* command and options */
    const char *keeper;        /* path of this program on other hosts */
    bool shows_out, shows_err; /* with prefix, by us; otherwise they are inherited */
    bool carries_input;        /* to rank 0, by control frames; otherwise it is inherited */
    unsigned nodes;
    const struct pinning_machine *machine; /* whose sockets they are kept on; NULL: on none */
    struct output_style out, err;
};

/* `orders`: what to run. 0, or a status with a sentence. */
int node_start(struct node *, const struct node_manner *, const struct control_text *orders);

/* Asks it to end, now or once more: at the second time keepers kill at once. */
void node_end(struct node *);
/* Does not ask. What the keeper leaves falls to this process. */
void node_kill(struct node *);
/* Says that we live. */
void node_beat(const struct node *);
void node_fini(struct node *);

/* Tells the keepers of all nodes, now and then, that the launcher lives: on a thread of its own,
 * because the launcher's waits for whoever takes its output, who may have stopped (Ctrl-S). */
struct beats {
    pthread_t thread;
    pthread_mutex_t mutex; /* the control streams are open, or are not */
    pthread_cond_t over;
    bool is_running, must_stop;
    const struct node *node;
    const unsigned *nodes; /* their number, which may change while beats are held */
};

void beats_init(struct beats *, const struct node *, const unsigned *nodes);
/* 0, or a status with a sentence. */
int beats_start(struct beats *);
/* Between these two, nobody else looks at the nodes. */
void beats_hold(struct beats *);
void beats_go_on(struct beats *);
void beats_stop(struct beats *);

#endif
