/*
 * dense_file.h - the layers of a network in a model file: tensors "layer0.weight", inputs x outputs,
 * "layer0.bias", and so on. The first layer of a network may have another number.
 *
 * Callers   main(), and the first worker of rank 0; dense_file_take() any thread
 * Memory    a layer, for the call
 * Waiting   for rows of other nodes, and the disk
 */
#ifndef APPS_DENSE_FILE_H
#define APPS_DENSE_FILE_H

#include "dense_rows.h"
#include "saved.h"

/* All layers, as the next tensors; and their values, when these come. */
void dense_file_declare(const struct dense_plan *, size_t first, struct tensors *);
void dense_file_write(const struct dense_plan *, struct pool_member *, size_t table,
                      struct tensors *);

/* A layer's tensors. outputs 0: any number. What does not fit ends the program. */
struct dense_file_layer {
    const struct saved_tensor *weights, *bias;
};
struct dense_file_layer dense_file_take(const struct saved *, size_t number, size_t inputs,
                                        size_t outputs);
/* To use it, for one example at a time. */
void dense_file_open(struct dense *, const struct saved *, size_t number, size_t inputs,
                     bool is_rectified);

#endif
