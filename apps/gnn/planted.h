/*
 * planted.h - generates a graph whose degrees follow a power law, with planted classes: each edge's
 * first end is drawn by the law, the second one by the law, too, among the nodes of the same class
 * with probability `same`, else among all. The same for a seed on all nodes.
 *
 * Callers   main()
 * Memory    4 bytes a node while it works
 * Waiting   never
 */
#ifndef GNN_PLANTED_H
#define GNN_PLANTED_H

#include "labels.h"

struct planted {
    const char *text; /* "1000000x16x32": nodes, mean degree, classes */
    double exponent;  /* of the degrees' distribution: above 2 */
    double same;
    uint64_t seed;
};

/* Leaves the network to be finished, and the labels to be split. Gives up when it is no such
 * text. */
void planted_generate(const struct planted *, struct network *, struct labels *);

#endif
