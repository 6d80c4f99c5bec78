#include "dense.h"

#include "fail.h"
#include "matrix.h"
#include "vec.h"

#include <stdlib.h>
#include <string.h>

void dense_open(struct dense *d, size_t inputs, size_t outputs, bool is_rectified,
                size_t examples_max)
{
    *d = (struct dense){.inputs = inputs,
                        .outputs = outputs,
                        .examples_max = examples_max,
                        .is_rectified = is_rectified};
    d->gradient = take_memory(dense_weights(d), sizeof *d->gradient);
    d->bias = take_memory(outputs, sizeof *d->bias);
    d->weights = take_memory(matrix_panels(inputs, outputs), sizeof *d->weights);
    d->turned = take_memory(matrix_panels(outputs, inputs), sizeof *d->turned);
    d->errors = take_memory(matrix_panels(examples_max, outputs), sizeof *d->errors);
    d->lists = take_memory(examples_max, sizeof *d->lists);
}

void dense_close(struct dense *d)
{
    free(d->gradient);
    free(d->bias);
    free(d->weights);
    free(d->turned);
    free(d->errors);
    free(d->lists);
    *d = (struct dense){0};
}

/* Both ways at once: the rows are in the cache, and may have changed when the errors come back. */
void dense_load(struct dense *d, const float *const *rows)
{
    matrix_pack(d->weights, rows, d->inputs, d->outputs);
    matrix_pack_turned(d->turned, rows, d->outputs, d->inputs);
    memcpy(d->bias, rows[d->inputs], d->outputs * sizeof *d->bias);
    memset(d->gradient, 0, dense_weights(d) * sizeof *d->gradient);
}

void dense_forward(const struct dense *d, const float *x, float *y, size_t count)
{
    const struct vec *v = vec_best();
    matrix_multiply(y, d->outputs, x, d->inputs, 1, d->weights, count, d->outputs, d->inputs, 0);
    for (size_t i = 0; i < count; i++) {
        float *to = y + i * d->outputs;
        if (d->is_rectified) {
            v->add_rectified(to, d->bias, d->outputs);
        } else {
            v->add(to, d->bias, d->outputs);
        }
    }
}

void dense_backward(struct dense *d, const float *x, const float *y, float *dy, float *dx,
                    size_t count)
{
    const struct vec *v = vec_best();
    size_t n = d->outputs;
    float *bias = d->gradient + d->inputs * n;
    if (d->is_rectified) v->clear_unless_positive(dy, y, count * n);
    for (size_t i = 0; i < count; i++) {
        d->lists[i] = dy + i * n;
        v->add(bias, d->lists[i], n);
    }
    matrix_pack(d->errors, d->lists, count, n);
    matrix_multiply(d->gradient, n, x, 1, d->inputs, d->errors, d->inputs, n, count, 1);
    if (dx) matrix_multiply(dx, d->inputs, dy, n, 1, d->turned, count, d->inputs, n, 0);
}
