/*
 * accuracy.h - the share of nodes whose class is found, of those to validate with and of those to
 * test with, computed by all nodes of the cluster. A node's neighbours are drawn by the seed: the
 * same ones each time, whatever the cluster.
 *
 * Callers   every worker of every node, a collective
 * Memory    that of a batch
 * Waiting   for rows of other nodes, and for all workers
 * Life      open; any number of judgements; close
 */
#ifndef GNN_ACCURACY_H
#define GNN_ACCURACY_H

#include "convolution.h"

struct accuracy {
    double validation, test; /* NAN: there are no such nodes */
    double seconds;
};

struct accuracy_judge {
    const struct gnn *gnn;
    struct pool_member *member;
    struct neighbourhood_maker maker;
    struct neighbourhood neighbourhood;
    struct convolution convolution;
};

void accuracy_open(struct accuracy_judge *, const struct gnn *, struct pool_member *);
struct accuracy accuracy_take(struct accuracy_judge *);
void accuracy_close(struct accuracy_judge *);

#endif
