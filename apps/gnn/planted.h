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
    uint32_t nodes, classes;
    uint64_t degree; /* the mean, before edges that are double are taken out */
    double exponent; /* of the degrees' distribution: above 2 */
    double same;
    uint64_t seed;
};

/* Reads "1000000x16x32" into nodes, degree and classes. Gives up when it is no such text. */
void planted_parse(struct planted *, const char *text);
/* Leaves the network to be finished, and the labels to be split. */
void planted_generate(const struct planted *, struct network *, struct labels *);

#endif
