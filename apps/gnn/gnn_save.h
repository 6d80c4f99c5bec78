/*
 * gnn_save.h - writes the model as safetensors: embeddings, or with features the first layer's
 * weights; the layers' weights and biases; the names of nodes and classes if there are any.
 *
 * Callers   one worker, while the others rest
 * Memory    a block of rows, and a layer
 * Waiting   for rows of other nodes, and for the disk. Any failure ends the program with a sentence
 */
#ifndef GNN_GNN_SAVE_H
#define GNN_GNN_SAVE_H

#include "gnn.h"

void gnn_save(const struct gnn *, struct pool_member *);

#endif
