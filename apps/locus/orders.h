/*
 * orders.h - what a node's keeper is told (control.h): which program, with which arguments and
 * variables, as which node of which cluster.
 *
 * Memory    what the text grows to; all else by reference
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_RUN_ORDERS_H
#define LOCUS_RUN_ORDERS_H

#include "node.h"
#include "options.h"

/* Of all nodes alike. */
struct orders {
    const struct options *options;
    const char *rendezvous, *directory;
    const char *secret; /* "": the user has one */
    unsigned nodes;
    unsigned restart; /* how often the job was started again */
    double lost_s;    /* when the run before ended: seconds since 1970 */
    bool carries_input;
};

/* 0, or a status with a sentence. The text is the caller's to free. */
int orders_write(const struct orders *, const struct node *, struct control_text *);

#endif
