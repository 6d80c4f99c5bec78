/*
 * clusters.h - groups of nodes that are near each other, by label propagation (Raghavan et al.,
 * 2007): each node in turn joins the group that most of its neighbours are in, as long as that one
 * has room. What is found are groups that the graph has; how many, nobody says.
 *
 * Memory    16 bytes a node meanwhile
 * Waiting   never
 */
#ifndef GNN_CLUSTERS_H
#define GNN_CLUSTERS_H

#include "network.h"

/* Groups of at most so many nodes; cluster_of[v] is a node's group, the number of some node. The
 * nodes take turns as in `order`, each once a pass. */
void clusters_find(const struct network *, const uint32_t *order, uint32_t nodes_max,
                   uint32_t *cluster_of);
/* Lists all nodes, those of a group together, groups by size, the largest first. */
void clusters_list(const struct network *, const uint32_t *cluster_of, uint32_t *list);

#endif
