/* Dense layers: against plain loops in double precision and their finite differences; and their
 * rows, on plain arrays and with locus. */
#include "dense.h"
#include "fail.h"
#include "pools.h"
#include "rng.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 3, SIZE_MAX_EACH = 70, EXAMPLES_MAX = 37 };

static struct rng rng = {{4, 3, 2, 1}};

/* ---- a network and its loss, by plain loops ---- */

struct network {
    size_t sizes[LAYERS + 1], examples;
    float *weights[LAYERS], *x, *wanted; /* the loss is the sum of y times what is wanted */
};

static float *drawn(size_t n)
{
    float *x = take_memory(n, sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = (float)(2 * rng_real(&rng) - 1);
    return x;
}

static void network_open(struct network *n, const size_t *sizes, size_t examples)
{
    memcpy(n->sizes, sizes, sizeof n->sizes);
    n->examples = examples;
    for (size_t i = 0; i < LAYERS; i++) n->weights[i] = drawn((sizes[i] + 1) * sizes[i + 1]);
    n->x = drawn(examples * sizes[0]);
    n->wanted = drawn(examples * sizes[LAYERS]);
}

static void network_close(struct network *n)
{
    for (size_t i = 0; i < LAYERS; i++) free(n->weights[i]);
    free(n->x);
    free(n->wanted);
}

/* With `by` added to one of the numbers. All layers but the last are rectified. */
static double loss(const struct network *n, const float *changed, double by)
{
    double total = 0, now[SIZE_MAX_EACH], next[SIZE_MAX_EACH];
#define VALUE(at) ((double)*(at) + ((at) == changed ? by : 0))
    for (size_t e = 0; e < n->examples; e++) {
        for (size_t i = 0; i < n->sizes[0]; i++) now[i] = VALUE(&n->x[e * n->sizes[0] + i]);
        for (size_t l = 0; l < LAYERS; l++) {
            size_t in = n->sizes[l], out = n->sizes[l + 1];
            for (size_t j = 0; j < out; j++) {
                next[j] = VALUE(&n->weights[l][in * out + j]);
                for (size_t i = 0; i < in; i++)
                    next[j] += now[i] * VALUE(&n->weights[l][i * out + j]);
                if (l + 1 < LAYERS && next[j] < 0) next[j] = 0;
            }
            memcpy(now, next, sizeof now);
        }
        for (size_t j = 0; j < n->sizes[LAYERS]; j++)
            total += now[j] * (double)n->wanted[e * n->sizes[LAYERS] + j];
    }
#undef VALUE
    return total;
}

static void is_slope(const struct network *n, const float *at, float gradient, const char *what)
{
    const double by = 1e-6;
    double slope = (loss(n, at, by) - loss(n, at, -by)) / (2 * by);
    if (!(fabs((double)gradient - slope) <= 1e-4 * (1 + fabs(slope))))
        test_fail(__FILE__, __LINE__, "%s: gradient %g, slope %g", what, (double)gradient, slope);
}

static void check_network(const size_t *sizes, size_t examples)
{
    CLOSED_BY(network_close) struct network n;
    struct dense layers[LAYERS];
    size_t part = (examples + 1) / 2;
    float *y[LAYERS + 1], *dy[LAYERS + 1];
    const float *rows[SIZE_MAX_EACH + 1];
    network_open(&n, sizes, examples);
    for (size_t l = 0; l <= LAYERS; l++) {
        y[l] = l > 0 ? take_memory(examples * sizes[l], sizeof(float)) : n.x;
        dy[l] = take_memory(examples * sizes[l], sizeof(float));
    }
    for (size_t l = 0; l < LAYERS; l++) {
        dense_open(&layers[l], sizes[l], sizes[l + 1], l + 1 < LAYERS, examples);
        for (size_t i = 0; i <= sizes[l]; i++) rows[i] = n.weights[l] + i * sizes[l + 1];
        dense_load(&layers[l], rows);
        dense_forward(&layers[l], y[l], y[l + 1], examples);
    }
    double total = 0;
    for (size_t i = 0; i < examples * sizes[LAYERS]; i++)
        total += (double)y[LAYERS][i] * (double)n.wanted[i];
    CHECK(fabs(total - loss(&n, NULL, 0)) < 1e-4 * (1 + fabs(total)));
    memcpy(dy[LAYERS], n.wanted, examples * sizes[LAYERS] * sizeof(float));
    for (size_t l = LAYERS; l-- > 0;) { /* of two calls gradients add up */
        size_t in = sizes[l] * part, out = sizes[l + 1] * part;
        dense_backward(&layers[l], y[l], y[l + 1], dy[l + 1], dy[l], part);
        if (part < examples)
            dense_backward(&layers[l], y[l] + in, y[l + 1] + out, dy[l + 1] + out, dy[l] + in,
                           examples - part);
    }
    for (size_t l = 0; l < LAYERS; l++)
        for (size_t i = 0; i < dense_weights(&layers[l]); i += 1 + i % 3)
            is_slope(&n, &n.weights[l][i], layers[l].gradient[i], "a weight");
    for (size_t i = 0; i < examples * sizes[0]; i += 1 + i % 2)
        is_slope(&n, &n.x[i], dy[0][i], "an input");
    for (size_t l = 0; l < LAYERS; l++) dense_close(&layers[l]);
    for (size_t l = 1; l <= LAYERS; l++) free(y[l]);
    for (size_t l = 0; l <= LAYERS; l++) free(dy[l]);
}

TEST(dense, gradients_are_slopes)
{
    check_network((size_t[]){1, 1, 1, 1}, 1);
    check_network((size_t[]){7, 5, 3, 1}, EXAMPLES_MAX);
    check_network((size_t[]){3, 33, 16, 2}, 13);
    check_network((size_t[]){17, 64, 32, 1}, 2);
}

/* ---- rows ---- */

/* 130 inputs of 64 weights: more than a row, and the last one not full; a layer in one row; one
 * whose inputs are longer than others' rows. */
static struct dense_plan plan_of(void)
{
    struct dense_plan p = {0};
    dense_plan_add(&p, 129, 64, true);
    dense_plan_add(&p, 4, 2, false);
    dense_plan_add(&p, 2, DENSE_ROW_FLOATS + 1, true);
    return p;
}

enum { TABLE = 1, STEPS = 3 };

/* What AdaGrad makes of one weight; the gradient is 1 + (its number % 5) in each step. */
static double expected(double first, size_t number)
{
    double g = 1 + (double)(number % 5), sum = 0;
    for (int step = 0; step < STEPS; step++) {
        sum += g * g;
        first -= 0.1 * g / sqrt(sum);
    }
    return first;
}

static float *collect(const struct dense_plan *p, struct pool_member *m, size_t layer)
{
    float *weights =
        take_memory((p->layers[layer].inputs + 1) * p->layers[layer].outputs, sizeof *weights);
    dense_rows_collect(p, m, TABLE, layer, weights);
    return weights;
}

static void use_rows(struct pool_member *m, void *plan)
{
    struct dense_plan *p = plan;
    CLOSED_BY(dense_rows_close) struct dense_rows d;
    float *first[LAYERS];
    dense_rows_init(p, m, TABLE, 7, NULL, 0);
    dense_rows_keep(p, m, TABLE);
    pool_quiesce(m);
    dense_rows_open(&d, p, m, TABLE, 1);
    for (size_t l = 0; l < p->count; l++) first[l] = collect(p, m, l);
    for (int step = 0; step < STEPS; step++) {
        dense_rows_read(&d);
        for (size_t l = 0; l < p->count; l++)
            for (size_t i = 0; i < dense_weights(&d.layers[l]); i++)
                d.layers[l].gradient[i] = (float)(1 + i % 5);
        dense_rows_train(&d);
    }
    dense_rows_flush(&d);
    for (size_t l = 0; l < p->count; l++) {
        CLOSED_BY(free_at) float *now = collect(p, m, l);
        size_t count = dense_weights(&d.layers[l]), biases = count - p->layers[l].outputs;
        for (size_t i = 0; i < count; i++) {
            CHECK(fabs((double)now[i] - expected((double)first[l][i], i)) < 1e-4);
            CHECK(i < biases || first[l][i] == 0);
        }
        free(first[l]);
    }
}

TEST(dense, rows_are_trained_on_arrays_and_with_locus)
{
    struct dense_plan p = plan_of();
    for (int baseline = 0; baseline < 2; baseline++) {
        struct locus_table tables[] = {{.rows = 10, .length = 4},
                                       {.rows = p.rows,
                                        .length = p.length,
                                        .optimizer = LOCUS_ADAGRAD,
                                        .rule = {.rate = 0.1f}}};
        pools_run(tables, 2, 1, baseline, use_rows, &p);
    }
}
