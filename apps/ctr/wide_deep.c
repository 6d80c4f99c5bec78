#include "wide_deep.h"

#include "fail.h"
#include "vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Floats of an example before a layer, or behind the last. */
static size_t width(const struct wide_deep *w, size_t layer)
{
    const struct dense_plan *p = &w->ctr->plan;
    return layer == 0 ? p->layers[0].inputs : p->layers[layer - 1].outputs;
}

void wide_deep_open(struct wide_deep *w, const struct ctr *c, struct pool_member *m,
                    size_t examples_max)
{
    size_t keys = ctr_entries(c, examples_max), parameters = ctr_parameters(c);
    *w = (struct wide_deep){.ctr = c, .member = m};
    dense_rows_open(&w->dense, &c->plan, m, CTR_LAYERS, examples_max);
    params_open(&w->params, m, keys, keys * parameters);
    w->rows = take_memory(keys, sizeof *w->rows);
    w->gradients = take_memory(keys * parameters, sizeof *w->gradients);
    w->logits = take_memory(examples_max, sizeof *w->logits);
    for (size_t i = 0; i <= c->plan.count; i++) {
        w->values[i] = take_memory(examples_max * width(w, i), sizeof(float));
        w->errors[i] = take_memory(examples_max * width(w, i), sizeof(float));
    }
}

void wide_deep_close(struct wide_deep *w)
{
    for (size_t i = 0; i <= w->ctr->plan.count; i++) {
        free(w->values[i]);
        free(w->errors[i]);
    }
    dense_rows_close(&w->dense);
    params_close(&w->params);
    free(w->rows);
    free(w->gradients);
    free(w->logits);
}

void wide_deep_flush(struct wide_deep *w)
{
    dense_rows_flush(&w->dense);
    params_flush(&w->params);
}

/* ---- forward ---- */

/* The sums of weights, and the layers' inputs: of each field the sum of its features' vectors. */
static void gather(struct wide_deep *w, const struct click_batch *b)
{
    const struct vec *v = vec_best();
    size_t dim = w->ctr->options.dim, inputs = width(w, 0);
    memset(w->values[0], 0, b->examples * inputs * sizeof(float));
    for (uint32_t e = 0; e < b->examples; e++) {
        float *to = w->values[0] + e * inputs, sum = 0;
        for (uint32_t i = b->starts[e]; i < b->starts[e + 1]; i++) {
            const float *row = w->rows[b->place[i]];
            sum += b->value[i] * row[0];
            v->add_scaled(to + b->field[i] * dim, b->value[i], row + 1, dim);
        }
        w->logits[e] = sum;
    }
}

static void forward(struct wide_deep *w, const struct click_batch *b)
{
    size_t layers = w->ctr->plan.count;
    gather(w, b);
    for (size_t i = 0; i < layers; i++)
        dense_forward(&w->dense.layers[i], w->values[i], w->values[i + 1], b->examples);
    for (uint32_t e = 0; e < b->examples; e++) w->logits[e] += w->values[layers][e];
}

const float *wide_deep_predict(struct wide_deep *w, const struct click_batch *b)
{
    dense_rows_read(&w->dense);
    params_prefetch(&w->params, b->keys, b->key_count);
    params_read(&w->params, b->keys, b->key_count, w->rows);
    forward(w, b);
    params_release(&w->params);
    return w->logits;
}

/* ---- backward ---- */

/* The gradients at the logits, each a share of a full batch's mean: a last batch of a few examples
 * makes a small step. */
static double judge(struct wide_deep *w, const struct click_batch *b)
{
    double sum = 0;
    float *to = w->errors[w->ctr->plan.count], each = 1 / (float)w->ctr->options.batch;
    for (uint32_t e = 0; e < b->examples; e++) {
        double logit = (double)w->logits[e], wanted = b->is_click[e] ? logit : 0,
               weight = (double)b->weight[e];
        sum += weight * ((logit > 0 ? logit : 0) + log1p(exp(-fabs(logit))) - wanted);
        to[e] = each * (float)(weight * (1 / (1 + exp(-logit)) - b->is_click[e]));
    }
    return sum;
}

static void scatter(struct wide_deep *w, const struct click_batch *b)
{
    const struct vec *v = vec_best();
    size_t dim = w->ctr->options.dim, parameters = 1 + dim, inputs = width(w, 0);
    const float *errors = w->errors[w->ctr->plan.count];
    memset(w->gradients, 0, b->key_count * parameters * sizeof *w->gradients);
    for (uint32_t e = 0; e < b->examples; e++) {
        const float *from = w->errors[0] + e * inputs;
        for (uint32_t i = b->starts[e]; i < b->starts[e + 1]; i++) {
            float *to = w->gradients + b->place[i] * parameters;
            to[0] += b->value[i] * errors[e];
            v->add_scaled(to + 1, b->value[i], from + b->field[i] * dim, dim);
        }
    }
}

static void backward(struct wide_deep *w, const struct click_batch *b)
{
    for (size_t i = w->ctr->plan.count; i-- > 0;)
        dense_backward(&w->dense.layers[i], w->values[i], w->values[i + 1], w->errors[i + 1],
                       w->errors[i], b->examples);
    scatter(w, b);
}

/* ---- the step ---- */

static void change_features(struct wide_deep *w, struct params_update *u,
                            const struct click_batch *b)
{
    size_t parameters = ctr_parameters(w->ctr);
    struct vec_gradient g = {.scale = 1, .decay = (float)w->ctr->options.regularization};
    for (uint32_t i = 0; i < b->key_count; i++) {
        g.direction = w->gradients + i * parameters;
        params_step(&w->params, u, b->keys[i], w->rows[i], parameters, vec_best()->gradient, &g);
    }
}

double wide_deep_train(struct wide_deep *w, const struct click_batch *b)
{
    double loss = 0;
    if (b->examples > 0) {
        dense_rows_read(&w->dense);
        params_prefetch(&w->params, b->keys, b->key_count);
        struct params_update *u = params_is_plain(&w->params) ? NULL : params_begin(&w->params);
        params_read(&w->params, b->keys, b->key_count, w->rows);
        forward(w, b);
        loss = judge(w, b);
        backward(w, b);
        change_features(w, u, b);
        params_release(&w->params);
        if (u) params_end(&w->params, u);
        dense_rows_train(&w->dense);
    }
    if (w->member->worker) locus_advance_clock(w->member->worker);
    return loss;
}
