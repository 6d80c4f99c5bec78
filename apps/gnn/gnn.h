/*
 * gnn.h - what the parts of gnn share: the options, the graph, and which rows there are.
 *
 * There are two layers of graph convolution (Kipf and Welling, 2017). A node's input is its
 * embedding, a row of --dim floats that is learned. A layer takes the mean of a node's input and
 * its neighbours', multiplies it by its weights and adds its biases. What is below 0 is
 * cut off behind the first one; the second one says how likely each class is. With --features the
 * rows are those of the first layer's weights, one for each feature, of --hidden floats: a node's
 * input is the sum of its features' rows, weighted by their values, and the first layer only cuts
 * off.
 *
 * Callers   main() fills it in; workers read
 * Memory    the parts'
 * Waiting   never
 */
#ifndef GNN_GNN_H
#define GNN_GNN_H

#include "dense.h"
#include "features.h"
#include "labels.h"
#include "pool.h"
#include "settings.h"

struct gnn_options {
    struct settings common;
    const char *labels, *features, *split;
    uint64_t dim, hidden, batch, neighbours;
    double train, validate;
    double rate, decay, dropout, init;
};

struct gnn {
    struct gnn_options options;
    struct network network;
    struct labels labels;
    struct features features; /* empty: embeddings are learned */
    uint32_t *part_of, parts; /* of each node: whose it is; how many there are */
    struct dense_plan plan;   /* of the dense layers; the last one finds the classes */
};

enum gnn_table { GNN_INPUTS, GNN_DENSE, GNN_TABLES };

static inline bool gnn_has_features(const struct gnn *g)
{
    return g->features.start != NULL;
}

/* Rows of the table GNN_INPUTS. */
static inline uint64_t gnn_inputs(const struct gnn *g)
{
    return gnn_has_features(g) ? g->features.count : g->network.nodes;
}

/* Parameters of such a row. */
static inline size_t gnn_width(const struct gnn *g)
{
    return (size_t)(gnn_has_features(g) ? g->options.hidden : g->options.dim);
}

#endif
