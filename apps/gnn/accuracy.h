/*
 * accuracy.h - the share of nodes whose class is found, of those to validate with and of those to
 * test with, and of the latter the mean over classes of F1, computed by all nodes of the cluster. A
 * node's neighbours are drawn by the seed: the same ones each time, whatever the cluster.
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
    double validation, test, f1; /* the last of the test; NAN: there are no such nodes */
    double seconds;
};

struct accuracy_judge {
    const struct gnn *gnn;
    struct pool_member *member;
    struct neighbourhood_maker maker;
    struct neighbourhood neighbourhood;
    struct convolution convolution;
};

/* Of nodes of a class: as found, found, all there are. */
enum accuracy_tally { ACCURACY_RIGHT, ACCURACY_FOUND, ACCURACY_ALL, ACCURACY_TALLY };
/* Macro: of classes that are, or were found. 0 / 0 is no number. */
double accuracy_f1(const double *tally, uint32_t classes);

void accuracy_open(struct accuracy_judge *, const struct gnn *, struct pool_member *);
struct accuracy accuracy_take(struct accuracy_judge *);
void accuracy_close(struct accuracy_judge *);

#endif
