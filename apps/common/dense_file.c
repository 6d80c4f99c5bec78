#include "dense_file.h"

#include "fail.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 40 };

static const char *name_of(char name[NAME_BYTES], size_t number, const char *what)
{
    snprintf(name, NAME_BYTES, "layer%zu.%s", number, what);
    return name;
}

void dense_file_declare(const struct dense_plan *p, size_t first, struct tensors *t)
{
    char name[NAME_BYTES];
    for (size_t i = 0; i < p->count; i++) {
        const struct dense_plan_layer *l = &p->layers[i];
        tensors_declare(t, name_of(name, first + i, "weight"), TENSORS_F32, l->inputs, l->outputs);
        tensors_declare(t, name_of(name, first + i, "bias"), TENSORS_F32, l->outputs, 0);
    }
}

/* Biases are behind the weights. */
void dense_file_write(const struct dense_plan *p, struct pool_member *m, size_t table,
                      struct tensors *t)
{
    for (size_t i = 0; i < p->count; i++) {
        size_t count = (p->layers[i].inputs + 1) * p->layers[i].outputs;
        float *weights = take_memory(count, sizeof *weights);
        dense_rows_collect(p, m, table, i, weights);
        tensors_write(t, weights, count * sizeof *weights);
        free(weights);
    }
}

struct dense_file_layer dense_file_take(const struct saved *s, size_t number, size_t inputs,
                                        size_t outputs)
{
    char name[NAME_BYTES];
    const struct saved_tensor *w = saved_find(s, name_of(name, number, "weight"), TENSORS_F32);
    if (!w || w->rows != inputs || w->columns == 0 || (outputs > 0 && w->columns != outputs))
        saved_fail(s, "its \"%s\" does not fit the layer before, or the training", name);
    return (struct dense_file_layer){
        w, saved_take(s, name_of(name, number, "bias"), TENSORS_F32, w->columns, 0)};
}

void dense_file_open(struct dense *d, const struct saved *s, size_t number, size_t inputs,
                     bool is_rectified)
{
    const struct dense_file_layer l = dense_file_take(s, number, inputs, 0);
    const float **rows = take_memory(inputs + 1, sizeof *rows);
    for (size_t i = 0; i < inputs; i++) rows[i] = saved_row(l.weights, i);
    rows[inputs] = l.bias->values;
    dense_open(d, inputs, l.weights->columns, is_rectified, 1);
    dense_load(d, rows);
    free(rows);
}
