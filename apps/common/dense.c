#include "dense.h"

#include "fail.h"
#include "matrix.h"
#include "rng.h"
#include "vec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dense_open(struct dense *d, size_t inputs, size_t outputs, bool is_rectified,
                size_t examples_max)
{
    *d = (struct dense){.inputs = inputs, .outputs = outputs, .is_rectified = is_rectified};
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

/* ---- which weights are in which row ---- */

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

void dense_plan_of_length(struct dense_plan *p, size_t length)
{
    p->row_floats = length;
    p->length = (uint32_t)length;
}

void dense_plan_add(struct dense_plan *p, size_t inputs, size_t outputs, bool is_rectified)
{
    if (p->count == DENSE_LAYERS_MAX) fail("there are more than %d dense layers", DENSE_LAYERS_MAX);
    size_t capacity = p->row_floats ? p->row_floats : DENSE_ROW_FLOATS;
    size_t fit = capacity / outputs ? capacity / outputs : 1;
    struct dense_plan_layer *l = &p->layers[p->count++];
    *l = (struct dense_plan_layer){.inputs = inputs,
                                   .outputs = outputs,
                                   .is_rectified = is_rectified,
                                   .inputs_of_row = at_most(fit, inputs + 1),
                                   .first = p->rows};
    l->rows = (inputs + l->inputs_of_row) / l->inputs_of_row;
    p->rows += l->rows;
    size_t length = l->inputs_of_row * outputs;
    if (length > p->length) p->length = (uint32_t)length;
}

uint64_t dense_plan_weights(const struct dense_plan *p)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->count; i++) sum += (p->layers[i].inputs + 1) * p->layers[i].outputs;
    return sum;
}

/* Of a layer's row: the first of its inputs, and how many. */
static size_t first_input(const struct dense_plan_layer *l, uint64_t row)
{
    return (size_t)row * l->inputs_of_row;
}

static size_t inputs_of(const struct dense_plan_layer *l, uint64_t row)
{
    return at_most(l->inputs_of_row, l->inputs + 1 - first_input(l, row));
}

/* ---- first values ---- */

struct first_weights {
    const struct dense_plan *plan;
    uint64_t seed;
    struct dense_file_layer saved[DENSE_LAYERS_MAX]; /* --from; or none */
};

static const struct dense_plan_layer *layer_of(const struct dense_plan *p, uint64_t row)
{
    const struct dense_plan_layer *l = p->layers;
    while (row - l->first >= l->rows) l++;
    return l;
}

/* A rows_draw. Streams of random numbers that no other table has. */
static void draw_weights(const void *first_weights, uint64_t row, float *values)
{
    const struct first_weights *f = first_weights;
    const struct dense_plan_layer *l = layer_of(f->plan, row);
    size_t first = first_input(l, row - l->first), count = inputs_of(l, row - l->first);
    const struct dense_file_layer *saved = &f->saved[l - f->plan->layers];
    for (size_t i = first; saved->weights && i < first + count; i++)
        memcpy(values + (i - first) * l->outputs,
               i < l->inputs ? saved_row(saved->weights, i) : saved->bias->values,
               l->outputs * sizeof *values);
    if (saved->weights) return;
    double bound = sqrt((l->is_rectified ? 6.0 : 3.0) / (double)l->inputs);
    struct rng rng;
    rng_init(&rng, f->seed, UINT64_C(0xd) << 56 | row);
    for (size_t i = 0; i < count && first + i < l->inputs; i++)
        for (size_t j = 0; j < l->outputs; j++)
            values[i * l->outputs + j] = (float)(bound * (2 * rng_real(&rng) - 1));
}

void dense_rows_init(const struct dense_plan *p, struct pool_member *m, size_t table, uint64_t seed,
                     const char *from, size_t first)
{
    struct first_weights f = {.plan = p, .seed = seed};
    struct saved s;
    if (from) saved_open(&s, from);
    for (size_t i = 0; from && i < p->count; i++)
        f.saved[i] = dense_file_take(&s, first + i, p->layers[i].inputs, p->layers[i].outputs);
    rows_init(m, table, draw_weights, &f);
    if (from) saved_close(&s);
}

static locus_key *keys_of(const struct dense_plan *p, const struct pool_member *m, size_t table)
{
    locus_key *keys = take_memory(p->rows, sizeof *keys);
    for (uint64_t i = 0; i < p->rows; i++) keys[i] = m->pool->tables[table].first + i;
    return keys;
}

void dense_rows_keep(const struct dense_plan *p, const struct pool_member *m, size_t table)
{
    if (!m->worker) return;
    locus_key *keys = keys_of(p, m, table);
    must(locus_intent(m->worker, keys, p->rows, 0, LOCUS_FOREVER), "keeping the dense layers");
    free(keys);
}

/* ---- steps ---- */

void dense_rows_open(struct dense_rows *d, const struct dense_plan *p, struct pool_member *m,
                     size_t table, size_t examples_max)
{
    size_t inputs_max = 0;
    *d = (struct dense_rows){.plan = p};
    params_open(&d->params, m, p->rows, p->rows * p->length);
    d->keys = keys_of(p, m, table);
    d->rows = take_memory(p->rows, sizeof *d->rows);
    for (size_t i = 0; i < p->count; i++) {
        const struct dense_plan_layer *l = &p->layers[i];
        dense_open(&d->layers[i], l->inputs, l->outputs, l->is_rectified, examples_max);
        if (l->inputs > inputs_max) inputs_max = l->inputs;
    }
    d->lists = take_memory(inputs_max + 1, sizeof *d->lists);
}

void dense_rows_close(struct dense_rows *d)
{
    params_close(&d->params);
    for (size_t i = 0; i < d->plan->count; i++) dense_close(&d->layers[i]);
    free(d->keys);
    free(d->rows);
    free(d->lists);
    *d = (struct dense_rows){0};
}

void dense_rows_read(struct dense_rows *d)
{
    const struct dense_plan *p = d->plan;
    params_read(&d->params, d->keys, p->rows, d->rows);
    for (size_t i = 0; i < p->count; i++) {
        const struct dense_plan_layer *l = &p->layers[i];
        for (size_t j = 0; j <= l->inputs; j++)
            d->lists[j] = d->rows[l->first + j / l->inputs_of_row] +
                          j % l->inputs_of_row * l->outputs;
        dense_load(&d->layers[i], d->lists);
    }
    params_release(&d->params);
}

struct gradient {
    const float *values;
    size_t count;
};

/* A locus_gradient. A layer's last row may have fewer weights than others. */
static void write_gradient(void *gradient, const float *row, float *to, uint32_t length)
{
    const struct gradient *g = gradient;
    (void)row;
    memcpy(to, g->values, g->count * sizeof *to);
    memset(to + g->count, 0, (length - g->count) * sizeof *to);
}

void dense_rows_train(struct dense_rows *d)
{
    struct params_update *u = params_is_plain(&d->params) ? NULL : params_begin(&d->params);
    for (size_t i = 0; i < d->plan->count; i++) {
        const struct dense_plan_layer *l = &d->plan->layers[i];
        for (uint64_t r = 0; r < l->rows; r++) {
            struct gradient g = {.values = d->layers[i].gradient + first_input(l, r) * l->outputs,
                                 .count = inputs_of(l, r) * l->outputs};
            params_step(&d->params, u, d->keys[l->first + r], d->rows[l->first + r],
                        d->plan->length, write_gradient, &g);
        }
    }
    if (u) params_end(&d->params, u);
}

void dense_rows_flush(struct dense_rows *d)
{
    params_flush(&d->params);
}

/* ---- model files ---- */

struct collection {
    const struct dense_plan_layer *layer;
    float *weights;
};

static void collect(void *collection, uint64_t row, const float *values)
{
    const struct collection *c = collection;
    uint64_t own = row - c->layer->first;
    size_t n = c->layer->outputs;
    memcpy(c->weights + first_input(c->layer, own) * n, values,
           inputs_of(c->layer, own) * n * sizeof *values);
}

void dense_rows_collect(const struct dense_plan *p, struct pool_member *m, size_t table,
                        size_t layer, float *weights)
{
    const struct dense_plan_layer *l = &p->layers[layer];
    rows_visit(m, table, l->first, l->first + l->rows, collect,
               &(struct collection){.layer = l, .weights = weights});
}

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
