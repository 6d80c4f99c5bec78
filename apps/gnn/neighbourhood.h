/*
 * neighbourhood.h - what a batch of nodes depends on: of each node and of each of its neighbours,
 * or of some that are drawn, their neighbours, or some of them.
 *
 * `top` nodes are those of the batch, `middle` ones they and their neighbours, `inputs` the rows
 * that these and their neighbours have. Whatever comes again is there once. Edges lie in the order
 * in which they are used: of the upper layer node by node, of the lower one input by input, so that
 * each row is read once and changed once.
 *
 * Callers   one thread for each struct: a worker's loader, or who judges; of epochs the worker's
 * Memory    grows to that of the largest batch
 * Waiting   epochs_next() for the loader
 */
#ifndef GNN_NEIGHBOURHOOD_H
#define GNN_NEIGHBOURHOOD_H

#include "gnn.h"
#include "places.h"
#include "rng.h"

/* How much of an edge's lower end goes to its upper end. */
struct neighbourhood_edge {
    uint32_t end; /* a place among the middle nodes */
    float weight;
};

struct neighbourhood {
    uint32_t tops, middles, inputs;
    uint32_t *top;       /* nodes */
    locus_key *middle;   /* nodes, too */
    locus_key *input;    /* rows */
    uint32_t *top_start; /* of each top node's edges, to middle ones */
    struct neighbourhood_edge *upper;
    uint32_t *input_start; /* of each row's edges, from middle nodes */
    struct neighbourhood_edge *lower;
    size_t middle_capacity, upper_capacity, input_capacity, lower_capacity;
    bool is_last; /* of its epoch; it may have no nodes */
};

/* Puts it together. */
struct neighbourhood_maker {
    const struct gnn *gnn;
    size_t neighbours;
    float dropout; /* of features */
    bool is_fixed; /* a node's neighbours are chosen by the seed, the same ones each time */
    struct places middles, inputs;
    uint32_t *chosen;               /* of a node's neighbours: places among them */
    uint32_t *input_of, *middle_of; /* of each edge of the lower layer, as they are found */
    float *weight;
    size_t edges, edge_capacity;
};

void neighbourhood_init(struct neighbourhood *, size_t tops_max);
void neighbourhood_fini(struct neighbourhood *);
/* `neighbours` 0: all. With dropout, features are left out. */
void neighbourhood_maker_init(struct neighbourhood_maker *, const struct gnn *, size_t tops_max,
                              size_t neighbours, double dropout);
void neighbourhood_maker_fini(struct neighbourhood_maker *);
/* How many there can be, of middle nodes and of rows. */
size_t neighbourhood_middles_max(const struct gnn *, size_t tops_max, size_t neighbours);
size_t neighbourhood_inputs_max(const struct gnn *, size_t tops_max, size_t neighbours);
/* For the nodes in `top`. */
void neighbourhood_make(struct neighbourhood_maker *, struct neighbourhood *, struct rng *);

enum { EPOCHS_AHEAD = 64 }; /* batches, at most */

/* A worker's nodes to train with, as batches: those of its node's part, in a new random order in
 * each epoch, each batch with its neighbourhood. Its loader prepares them ahead, and signals intent
 * for the rows. */
struct epochs {
    const struct gnn *gnn;
    locus_feed *feed;
    struct neighbourhood_maker maker;
    struct rng rng;
    uint32_t *node, count; /* the worker's */
    uint32_t at;           /* the next one */
    uint64_t batches, epochs;
    unsigned place; /* the worker's */
    struct neighbourhood *list[EPOCHS_AHEAD];
    size_t ahead; /* so many of them */
};

/* Behind so many of them. */
void epochs_open(struct epochs *, const struct gnn *, struct pool_member *, uint64_t epochs);
/* Valid until the next call. */
const struct neighbourhood *epochs_next(struct epochs *);
void epochs_close(struct epochs *);

#endif
