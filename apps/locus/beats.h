/*
 * beats.h - tells the keepers of all nodes, now and then, that the launcher lives: on a thread of
 * its own, because the launcher's waits for whoever takes its output, who may have stopped
 * (Ctrl-S).
 *
 * Memory    the caller's; nodes are used by reference
 * Waiting   beats_hold for a beat to end; never long
 * Life      beats_init, beats_start, beats_hold and beats_go_on, beats_stop
 */
#ifndef LOCUS_RUN_BEATS_H
#define LOCUS_RUN_BEATS_H

#include "node.h"

#include <pthread.h>

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
