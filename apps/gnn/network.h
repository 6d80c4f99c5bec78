/*
 * network.h - a graph: nodes, and of each its neighbours. Edges have no direction; one that is said
 * twice counts once, one from a node to itself not at all.
 *
 * A file has an edge a row, the names of two nodes (fields.h), or is MatrixMarket's with a row and
 * a column for each node, which are named by their numbers, from 1. Weights are used if they are
 * wanted, and are from 1e-9 to 1e9: of the column that the heading calls `weight`, or the third
 * one, or the matrix's values. Other attributes are not used.
 *
 * Callers   main() loads; any thread reads
 * Memory    8 bytes an edge and node, 8 bytes an edge more while it is put together, and the names;
 *           weights are half as much again
 * Waiting   for the disk
 * Life      init; load, or any number of adds; finish; fini
 */
#ifndef GNN_NETWORK_H
#define GNN_NETWORK_H

#include "names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NETWORK_NODES_MAX = 1 << 29 };

struct network_edge {
    uint32_t from, to;
};

struct network {
    uint32_t nodes;
    uint64_t *start;     /* of each node's neighbours; one more for the end */
    uint32_t *neighbour; /* each node's ascend */
    struct names names;  /* of nodes; empty in tests that make edges */
    float *weight;       /* of the edge to each neighbour; NULL: all are 1 */
    float *strength;     /* the sum of each node's; NULL: its degree */
    struct network_edge *edges;
    float *edge_weight;
    size_t count, capacity, weight_capacity; /* of edges, until network_finish() */
    uint32_t added;                          /* nodes that another file named, and no edge has */
    bool is_weighted;                        /* set before network_load(): weights are wanted */
    bool is_matrix;                          /* by MatrixMarket */
    bool has_more;                           /* the file said more of its edges, of some at least */
};

void network_init(struct network *);
void network_fini(struct network *);
/* Gives up, with file and line, when it is malformed. */
void network_load(struct network *, const char *path);
/* Both are below `nodes`, which the caller has set. */
void network_add(struct network *, uint32_t from, uint32_t to);
/* After the last edge, and the last node that has none. */
void network_finish(struct network *);
uint64_t network_digest(const struct network *);

static inline uint32_t network_degree(const struct network *n, uint32_t node)
{
    return (uint32_t)(n->start[node + 1] - n->start[node]);
}

/* Of the edge to n->neighbour[at]. */
static inline float network_weight(const struct network *n, uint64_t at)
{
    return n->weight ? n->weight[at] : 1;
}

static inline float network_strength(const struct network *n, uint32_t node)
{
    return n->strength ? n->strength[node] : (float)network_degree(n, node);
}

/* Edges, each once. */
static inline uint64_t network_edges(const struct network *n)
{
    return n->start[n->nodes] / 2;
}

#endif
