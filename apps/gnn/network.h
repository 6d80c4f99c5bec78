/*
 * network.h - a graph: nodes, and of each its neighbours. Edges have no direction; one that is said
 * twice counts once, one from a node to itself not at all.
 *
 * A line of a file is an edge: the names of two nodes, with a tab between.
 *
 * Callers   main() loads or generates; any thread reads
 * Memory    8 bytes an edge and node, 8 bytes an edge more while it is put together, and the names
 * Waiting   for the disk
 * Life      init; load, or any number of adds; finish; fini
 */
#ifndef GNN_NETWORK_H
#define GNN_NETWORK_H

#include "lines.h"
#include "names.h"

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
    struct names names;  /* of nodes; empty where they were generated */
    struct network_edge *edges;
    size_t count, capacity; /* of edges, until network_finish() */
    uint32_t linked;        /* nodes that edges have: behind them are those that other files name */
};

void network_init(struct network *);
void network_fini(struct network *);
/* Gives up, with file and line, when it is malformed. */
void network_load(struct network *, const char *path);
/* For generators; both are below `nodes`, which the caller has set. */
void network_add(struct network *, uint32_t from, uint32_t to);
/* The node of that name, which may be a new one, in any file. */
uint32_t network_node(struct network *, const struct lines *, struct field name);
/* After the last edge, and the last node that has none. */
void network_finish(struct network *);
uint64_t network_digest(const struct network *);

static inline uint32_t network_degree(const struct network *n, uint32_t node)
{
    return (uint32_t)(n->start[node + 1] - n->start[node]);
}

/* Edges, each once. */
static inline uint64_t network_edges(const struct network *n)
{
    return n->start[n->nodes] / 2;
}

#endif
