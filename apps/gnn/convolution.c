#include "convolution.h"

#include "fail.h"
#include "vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows whose fetching begins together, while the ones before are in use. */
enum { TOGETHER = 32 };

void convolution_open(struct convolution *c, const struct gnn *g, struct pool_member *m,
                      size_t tops_max, size_t neighbours)
{
    size_t middles = neighbourhood_middles_max(g, tops_max, neighbours),
           inputs = neighbourhood_inputs_max(g, tops_max, neighbours), hidden = g->options.hidden;
    *c = (struct convolution){.gnn = g, .member = m, .width = gnn_width(g)};
    convolution_begin(c, 0);
    dense_rows_open(&c->dense, &g->plan, m, GNN_DENSE, middles > tops_max ? middles : tops_max);
    params_open(&c->params, m, inputs, inputs * c->width);
    c->sums = take_memory(middles * c->width, sizeof(float));
    c->sum_gradients = take_memory(middles * c->width, sizeof(float));
    c->hidden = take_memory(middles * hidden, sizeof(float));
    c->hidden_gradients = take_memory(middles * hidden, sizeof(float));
    c->top = take_memory(tops_max * hidden, sizeof(float));
    c->top_gradients = take_memory(tops_max * hidden, sizeof(float));
    c->odds = take_memory(tops_max * g->labels.classes, sizeof(float));
    c->gradient = take_memory(c->width, sizeof(float));
    c->missing = take_memory(inputs, sizeof *c->missing);
    c->keys = take_memory(inputs, sizeof *c->keys);
    c->rows = take_memory(inputs, sizeof *c->rows);
    c->is_here = take_memory(inputs, sizeof *c->is_here);
}

void convolution_begin(struct convolution *c, uint64_t epochs)
{
    rng_init(&c->rng, c->gnn->options.common.seed,
             UINT64_C(7) << 56 | epochs << 32 | c->member->place);
}

void convolution_flush(struct convolution *c)
{
    params_flush(&c->params);
    dense_rows_flush(&c->dense);
}

void convolution_close(struct convolution *c)
{
    params_close(&c->params);
    dense_rows_close(&c->dense);
    float *floats[] = {c->sums, c->sum_gradients, c->hidden, c->hidden_gradients,
                       c->top,  c->top_gradients, c->odds,   c->gradient};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) free(floats[i]);
    free(c->missing);
    free(c->keys);
    free(c->rows);
    free(c->is_here);
    *c = (struct convolution){0};
}

/* ---- the lower layer's sums ---- */

static void add_row(struct convolution *c, const struct neighbourhood *h, uint32_t input,
                    const float *row)
{
    const struct vec *v = vec_best();
    for (uint32_t e = h->input_start[input]; e < h->input_start[input + 1]; e++)
        v->add_scaled(c->sums + h->lower[e].end * c->width, h->lower[e].weight, row, c->width);
}

static void prefetch(struct convolution *c, const struct neighbourhood *h, uint32_t input)
{
    if (input >= h->inputs) return;
    uint32_t left = h->inputs - input;
    params_prefetch(&c->params, h->input + input, left < TOGETHER ? left : TOGETHER);
}

/* Fetches the first `count` of c->missing, whose rows become c->rows. */
static void fetch(struct convolution *c, const struct neighbourhood *h, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) c->keys[i] = h->input[c->missing[i]];
    params_fetch(&c->params, c->keys, count, c->rows);
}

/* Returns how many are missing. With the baseline c->rows are all rows. */
static uint32_t sum_inputs(struct convolution *c, const struct neighbourhood *h)
{
    uint32_t missing = 0;
    memset(c->sums, 0, h->middles * c->width * sizeof(float));
    prefetch(c, h, 0);
    for (uint32_t i = 0; i < h->inputs; i++) {
        if (i % TOGETHER == 0) prefetch(c, h, i + TOGETHER);
        c->is_here[i] = params_view(&c->params, &h->input[i], 1, &c->rows[i]);
        if (c->is_here[i])
            add_row(c, h, i, c->rows[i]);
        else
            c->missing[missing++] = i;
    }
    params_release(&c->params);
    if (missing == 0) return 0;
    fetch(c, h, missing);
    for (uint32_t i = 0; i < missing; i++) add_row(c, h, c->missing[i], c->rows[i]);
    return missing;
}

/* ---- forward ---- */

static struct dense *first_layer(struct convolution *c)
{
    return gnn_has_features(c->gnn) ? NULL : &c->dense.layers[0];
}

static struct dense *last_layer(struct convolution *c)
{
    return &c->dense.layers[c->gnn->plan.count - 1];
}

static void cut_off(struct convolution *c, size_t count)
{
    for (size_t i = 0; i < count; i++) c->hidden[i] = c->sums[i] > 0 ? c->sums[i] : 0;
}

/* What is left out becomes 0, and its gradient too, as that of what is cut off. */
static void drop_out(struct convolution *c, size_t count)
{
    double dropout = c->gnn->options.dropout;
    uint64_t least = (uint64_t)(dropout * 0x1p16);
    float scale = (float)(1 / (1 - dropout));
    for (size_t i = 0; i < count; i += 4) {
        uint64_t drawn = rng_next(&c->rng);
        for (size_t j = i; j < i + 4 && j < count; j++, drawn >>= 16)
            c->hidden[j] = (drawn & UINT16_MAX) < least ? 0 : scale * c->hidden[j];
    }
}

static void sum_hidden(struct convolution *c, const struct neighbourhood *h)
{
    const struct vec *v = vec_best();
    size_t n = c->gnn->options.hidden;
    memset(c->top, 0, h->tops * n * sizeof(float));
    for (uint32_t t = 0; t < h->tops; t++)
        for (uint32_t e = h->top_start[t]; e < h->top_start[t + 1]; e++)
            v->add_scaled(c->top + t * n, h->upper[e].weight, c->hidden + h->upper[e].end * n, n);
}

static void make_probabilities(struct convolution *c, const struct neighbourhood *h)
{
    const struct vec *v = vec_best();
    size_t n = c->gnn->labels.classes;
    for (uint32_t t = 0; t < h->tops; t++) {
        float *odds = c->odds + t * n;
        float sum = v->exponentials(odds, n, v->maximum(odds, n));
        v->scale(odds, 1 / sum, n);
    }
}

static uint32_t forward(struct convolution *c, const struct neighbourhood *h, bool is_training)
{
    size_t hidden = h->middles * c->gnn->options.hidden;
    dense_rows_read(&c->dense);
    uint32_t missing = sum_inputs(c, h);
    if (first_layer(c))
        dense_forward(first_layer(c), c->sums, c->hidden, h->middles);
    else
        cut_off(c, hidden);
    if (is_training && c->gnn->options.dropout > 0) drop_out(c, hidden);
    sum_hidden(c, h);
    dense_forward(last_layer(c), c->top, c->odds, h->tops);
    make_probabilities(c, h);
    return missing;
}

const float *convolution_infer(struct convolution *c, const struct neighbourhood *h)
{
    if (h->tops > 0) forward(c, h, false);
    return c->odds;
}

/* ---- backward ---- */

/* The gradient at the logarithms of the odds, for the mean over the batch. */
static double subtract_right(struct convolution *c, const struct neighbourhood *h)
{
    const struct labels *l = &c->gnn->labels;
    double loss = 0;
    for (uint32_t t = 0; t < h->tops; t++) {
        float *right = c->odds + (size_t)t * l->classes + l->class_of[h->top[t]];
        loss -= log((double)*right + 1e-30);
        *right -= 1;
    }
    vec_best()->scale(c->odds, 1 / (float)h->tops, (size_t)h->tops * l->classes);
    return loss;
}

static void spread_top(struct convolution *c, const struct neighbourhood *h)
{
    const struct vec *v = vec_best();
    size_t n = c->gnn->options.hidden;
    float kept = (float)(1 / (1 - c->gnn->options.dropout));
    memset(c->hidden_gradients, 0, h->middles * n * sizeof(float));
    for (uint32_t t = 0; t < h->tops; t++)
        for (uint32_t e = h->top_start[t]; e < h->top_start[t + 1]; e++)
            v->add_scaled(c->hidden_gradients + h->upper[e].end * n, kept * h->upper[e].weight,
                          c->top_gradients + t * n, n);
}

static struct vec_gradient gradient_of(struct convolution *c, const struct neighbourhood *h,
                                       uint32_t input)
{
    const struct vec *v = vec_best();
    const struct neighbourhood_edge *e = h->lower + h->input_start[input],
                                    *end = h->lower + h->input_start[input + 1];
    v->set_scaled(c->gradient, e->weight, c->sum_gradients + e->end * c->width, c->width);
    while (++e < end)
        v->add_scaled(c->gradient, e->weight, c->sum_gradients + e->end * c->width, c->width);
    return (struct vec_gradient){
        .direction = c->gradient, .scale = 1, .decay = (float)c->gnn->options.decay};
}

/* With the copies of the first `count` of c->missing. */
static void step_away(struct convolution *c, const struct neighbourhood *h, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct vec_gradient g = gradient_of(c, h, c->missing[i]);
        params_step_away(c->update, h->input[c->missing[i]], c->rows[i], c->width,
                         vec_best()->gradient, &g);
    }
}

static void step_plain(struct convolution *c, const struct neighbourhood *h)
{
    for (uint32_t i = 0; i < h->inputs; i++) {
        struct vec_gradient g = gradient_of(c, h, i);
        if (i % TOGETHER == 0) prefetch(c, h, i + TOGETHER);
        params_step_plain(&c->params, h->input[i], c->rows[i], vec_best()->gradient, &g);
    }
}

/* A row that left since it was read is fetched. */
static void step_rows(struct convolution *c, const struct neighbourhood *h, uint32_t missing)
{
    uint32_t left = 0;
    step_away(c, h, missing);
    for (uint32_t i = 0; i < h->inputs; i++) {
        if (i % TOGETHER == 0) prefetch(c, h, i + TOGETHER);
        if (!c->is_here[i]) continue;
        struct vec_gradient g = gradient_of(c, h, i);
        if (!params_step_here(&c->params, h->input[i], vec_best()->gradient, &g))
            c->missing[left++] = i;
    }
    if (left > 0) fetch(c, h, left);
    step_away(c, h, left);
    params_end(&c->params, c->update);
}

static void backward(struct convolution *c, const struct neighbourhood *h)
{
    const struct vec *v = vec_best();
    dense_backward(last_layer(c), c->top, NULL, c->odds, c->top_gradients, h->tops);
    spread_top(c, h);
    if (first_layer(c)) {
        dense_backward(first_layer(c), c->sums, c->hidden, c->hidden_gradients, c->sum_gradients,
                       h->middles);
    } else {
        v->clear_unless_positive(c->hidden_gradients, c->hidden, h->middles * c->width);
        memcpy(c->sum_gradients, c->hidden_gradients, h->middles * c->width * sizeof(float));
    }
}

double convolution_train(struct convolution *c, const struct neighbourhood *h)
{
    double loss = 0;
    if (h->tops > 0) {
        bool is_plain = params_is_plain(&c->params);
        /* First: it may wait. */
        if (!is_plain) c->update = params_begin(&c->params);
        uint32_t missing = forward(c, h, true);
        loss = subtract_right(c, h);
        backward(c, h);
        if (is_plain)
            step_plain(c, h);
        else
            step_rows(c, h, missing);
        dense_rows_train(&c->dense);
    }
    if (c->member->worker) locus_advance_clock(c->member->worker);
    return loss;
}
