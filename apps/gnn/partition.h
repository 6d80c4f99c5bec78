/*
 * partition.h - divides a graph's nodes among the cluster's, so that few edges lead from one part
 * to another: a node goes where most of its neighbours are, the less the fuller a part is (linear
 * deterministic greedy; Stanton and Kliot, 2012), in several passes over a stream in breadth-first
 * order (restreaming; Nishimura and Ugander, 2013). It begins with groups of nodes as a whole
 * (clusters_find()), once with larger ones and once with smaller, and once with none; what cuts the
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
#include "network.h"

/* ---- clusters ---- */

/* Groups of nodes that are near each other, by label propagation (Raghavan et al., 2007): each node
 * in turn joins the group that most of its neighbours are in, as long as that one has room. At most
 * so many nodes each; cluster_of[v] is a node's group, the number of some node. The
 * nodes take turns as in `order`, each once a pass. */
void clusters_find(const struct network *, const uint32_t *order, uint32_t nodes_max,
                   uint32_t *cluster_of);
/* Lists all nodes, those of a group together, groups by size, the largest first. */
void clusters_list(const struct network *, const uint32_t *cluster_of, uint32_t *list);

/* Writes each node's part, below `parts`. */
void partition_cut(const struct network *, const struct labels *, uint32_t parts, uint64_t seed,
                   uint32_t *part_of);
/* The share of edges whose ends are in different parts. */
double partition_cut_share(const struct network *, const uint32_t *part_of);

#endif
