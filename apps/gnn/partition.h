/*
 * partition.h - divides a graph's nodes among the cluster's, so that few edges lead from one part
 * to another: a node goes where most of its neighbours are, the less the fuller a part is (linear
 * deterministic greedy; Stanton and Kliot, 2012), in several passes over a stream in breadth-first
 * order (restreaming; Nishimura and Ugander, 2013). It begins with groups of nodes as a whole
 * (clusters.h), once with larger ones and once with smaller, and once with none; what cuts the
 * fewest edges is kept. Parts have about as many nodes to train with each, and about as many
 * others.
 *
 * Callers   main(), the same on every node of the cluster
 * Memory    32 bytes a node while it works
 * Waiting   never
 */
#ifndef GNN_PARTITION_H
#define GNN_PARTITION_H

#include "labels.h"

enum partition_kind {
    PARTITION_GREEDY,
    PARTITION_RANDOM, /* to compare with */
};

/* Writes each node's part, below `parts`. */
void partition_cut(enum partition_kind, const struct network *, const struct labels *,
                   uint32_t parts, uint64_t seed, uint32_t *part_of);
/* The share of edges whose ends are in different parts. */
double partition_cut_share(const struct network *, const uint32_t *part_of);

#endif
