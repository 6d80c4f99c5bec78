/*
 * dense.h - a fully connected layer for a batch of examples: y = x W + b, rectified if wanted, and
 * the gradients; and a network of them, whose weights are rows of a table, or in a model file.
 *
 *     dense_load(&d, rows);                     once a step: the weights
 *     dense_forward(&d, x, y, count);           any number of times, with any examples
 *     dense_backward(&d, x, y, dy, dx, count);  what was computed forward: adds to d.gradient
 *
 * Batches are matrices without gaps: `count` rows of `inputs` or `outputs` floats. Weights are
 * `inputs` rows of `outputs` floats, one for each input, and one more, the bias.
 *
 * Callers   one thread for each struct; dense_file_take() any
 * Memory    weights three times, and a batch's products; of a network a copy of all rows, too,
 *           where some were not here
 * Waiting   a layer never. dense_rows_read() and dense_rows_train() for rows that are not here;
 *           with updates, when too many are under way. So neither inside a read section
 * Life      open; then load, forward and backward; close. Of a network as said below
 */
#ifndef APPS_DENSE_H
#define APPS_DENSE_H

#include "params.h"
#include "rows.h"
#include "saved.h"

#include <stdbool.h>
#include <stddef.h>

struct dense {
    size_t inputs, outputs;
    bool is_rectified;   /* y = max(0, x W + b) */
    float *gradient;     /* of weights and bias, summed over examples: (inputs + 1) x outputs */
    float *bias;         /* of this step */
    float *weights;      /* W packed as a right factor */
    float *turned;       /* the same of W turned */
    float *errors;       /* dy packed */
    const float **lists; /* of examples */
};

/* For at most `examples_max` examples in a call. */
void dense_open(struct dense *, size_t inputs, size_t outputs, bool is_rectified,
                size_t examples_max);
void dense_close(struct dense *);

static inline size_t dense_weights(const struct dense *d)
{
    return (d->inputs + 1) * d->outputs;
}

/* Takes the weights over: inputs + 1 rows, which are not needed any more afterwards. The gradient
 * begins at 0. */
void dense_load(struct dense *, const float *const *rows);
void dense_forward(const struct dense *, const float *x, float *y, size_t count);
/* `dy` is the gradient at y; where the layer is rectified, it becomes 0 where y is. Adds to the
 * gradient of the weights; writes the gradient at x into `dx`, unless that is NULL. */
void dense_backward(struct dense *, const float *x, const float *y, float *dy, float *dx,
                    size_t count);

/*
 * The layers of a network, whose weights are rows of one table that every node holds for good
 * (LOCUS_FOREVER): all nodes need all of them in each step. Steps are AdaGrad's.
 *
 * A row has the weights of as many inputs of one layer as DENSE_ROW_FLOATS hold, one at least. The
 * weights of an input are in one row; the bias is an input more. Where all tables' rows are equally
 * long, one row alone is found sooner: a plan may be told how long the others are.
 *
 *     dense_plan_add(&plan, inputs, outputs, is_rectified);      each layer, before there is a pool
 *     ...a table of plan.rows rows of plan.length floats, with LOCUS_ADAGRAD...
 *     dense_rows_init(&plan, member, table, seed, NULL, 0);      every worker, once
 *     dense_rows_keep(&plan, member, table);                     one worker of each node
 *     dense_rows_open(&d, &plan, member, table, examples_max);
 *     for each step
 *         dense_rows_read(&d);
 *         ...dense_forward(&d.layers[i], ...), dense_backward(&d.layers[i], ...)...
 *         dense_rows_train(&d);
 *     dense_rows_close(&d);
 */

enum { DENSE_LAYERS_MAX = 8, DENSE_ROW_FLOATS = 512 };

struct dense_plan {
    struct dense_plan_layer {
        size_t inputs, outputs;
        bool is_rectified;
        size_t inputs_of_row; /* whose weights share a row */
        uint64_t first, rows; /* of the table */
    } layers[DENSE_LAYERS_MAX];
    size_t count;
    size_t row_floats; /* weights of a row; 0: DENSE_ROW_FLOATS */
    uint64_t rows;
    uint32_t length; /* of a row of the table */
};

struct dense_rows {
    const struct dense_plan *plan;
    struct dense layers[DENSE_LAYERS_MAX];
    struct params params;
    locus_key *keys;
    const float **rows;  /* of the table */
    const float **lists; /* of one layer: the weights of each input */
};

/* A plan begins as zeros. */
/* Before the first layer: rows of `length` floats, or longer ones where an input has more. */
void dense_plan_of_length(struct dense_plan *, size_t length);
/* Too many layers end the program. */
void dense_plan_add(struct dense_plan *, size_t inputs, size_t outputs, bool is_rectified);
/* All weights, biases included. */
uint64_t dense_plan_weights(const struct dense_plan *);

/* First weights: uniform, of the variance 2 / inputs where the layer is rectified (He et al.,
 * 2015), else 1 / inputs; biases are 0. The same for a seed on every cluster.
 * Or those of the model `from`, unless that is NULL, whose layers are numbered from `first`
 * as in its file. Collective. */
void dense_rows_init(const struct dense_plan *, struct pool_member *, size_t table, uint64_t seed,
                     const char *from, size_t first);
/* With techniques that heed intents the node keeps them. */
void dense_rows_keep(const struct dense_plan *, const struct pool_member *, size_t table);

void dense_rows_open(struct dense_rows *, const struct dense_plan *, struct pool_member *,
                     size_t table, size_t examples_max);
void dense_rows_close(struct dense_rows *);
void dense_rows_read(struct dense_rows *);
/* One step of all layers with their gradients. */
void dense_rows_train(struct dense_rows *);
/* Waits for all updates. */
void dense_rows_flush(struct dense_rows *);

/* What a layer's weights are, for model files: inputs + 1 rows of `outputs` floats. */
void dense_rows_collect(const struct dense_plan *, struct pool_member *, size_t table, size_t layer,
                        float *weights);

/* In a model file they are tensors "layer0.weight", inputs x outputs, "layer0.bias", and so on; the
 * first may have another number. */

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

#endif
