/*
 * dense.h - a fully connected layer for a batch of examples: y = x W + b, rectified if wanted, and
 * the gradients. Where the weights are kept is the caller's matter (dense_rows.h).
 *
 *     dense_load(&d, rows);                     once a step: the weights
 *     dense_forward(&d, x, y, count);           any number of times, with any examples
 *     dense_backward(&d, x, y, dy, dx, count);  what was computed forward: adds to d.gradient
 *
 * Batches are matrices without gaps: `count` rows of `inputs` or `outputs` floats. Weights are
 * `inputs` rows of `outputs` floats, one for each input, and one more, the bias.
 *
 * Callers   one thread for each struct
 * Memory    weights three times, and a batch's products
 * Waiting   never
 * Life      open; then load, forward and backward; close
 */
#ifndef APPS_DENSE_H
#define APPS_DENSE_H

#include <stdbool.h>
#include <stddef.h>

struct dense {
    size_t inputs, outputs, examples_max;
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

#endif
