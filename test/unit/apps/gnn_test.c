/* The parts of gnn: the partition, neighbourhoods, and the gradients, which are held against finite
 * differences. */
#include "fail.h"
#include "gnn/accuracy.h"
#include "gnn/convolution.h"
#include "gnn/partition.h"
#include "gnn/network.h"
#include "pools.h"
#include "rng.h"
#include "rows.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a planted graph, and its parts ---- */

/* So many nodes of that mean degree, frequent ones and rare ones in each class; of the edges a share
 * stays in its class for sure. */
static void plant(struct gnn *g, uint32_t nodes, uint32_t degree, uint32_t classes, double same)
{
    struct rng rng;
    *g = (struct gnn){.options = {.common = {.seed = 3}, .hidden = 3, .dim = 4}};
    network_init(&g->network);
    labels_init(&g->labels);
    rng_init(&rng, 3, UINT64_C(1) << 61);
    labels_reserve(&g->labels, nodes);
    for (uint32_t v = 0; v < nodes; v++) g->labels.class_of[v] = v % classes;
    g->labels.classes = classes;
    g->network.nodes = nodes;
    for (uint32_t i = 0; i < nodes * degree / 2; i++) {
        uint32_t from = (uint32_t)rng_below(&rng, 1 + rng_below(&rng, nodes)),
                 to = (uint32_t)rng_below(&rng, 1 + rng_below(&rng, nodes));
        if (rng_real(&rng) < same) to = to / classes * classes + from % classes;
        network_add(&g->network, from, to < nodes ? to : from % classes);
    }
    network_finish(&g->network);
    labels_split(&g->labels, 0.5, 0.3, 3);
}

static void release(struct gnn *g)
{
    network_fini(&g->network);
    labels_fini(&g->labels);
    features_fini(&g->features);
    free(g->part_of);
}

static void check_balance(const struct gnn *g, const uint32_t *part_of, uint32_t parts)
{
    uint32_t count[6][2] = {{0}};
    double mean = g->network.nodes / 2.0 / parts;
    for (uint32_t v = 0; v < g->network.nodes; v++)
        count[part_of[v]][g->labels.purpose_of[v] == LABELS_TRAIN]++;
    for (uint32_t p = 0; p < 2 * parts; p++) {
        uint32_t size = count[p / 2][p % 2];
        if (size < 0.8 * mean || size > 1.06 * mean + 2)
            test_fail(__FILE__, __LINE__, "part %u of %u has %u", p, parts, size);
    }
}

TEST(gnn, partition_is_balanced_with_few_edges_between_parts)
{
    static uint32_t part_of[3000];
    CLOSED_BY(release) struct gnn g;
    plant(&g, 3000, 10, 6, 0.9);
    for (uint32_t parts = 1; parts <= 6; parts++) {
        double of_random_parts = 1 - 1.0 / parts;
        partition_cut(&g.network, &g.labels, parts, 1, part_of);
        check_balance(&g, part_of, parts);
        CHECK(partition_cut_share(&g.network, part_of) <= 0.4 * of_random_parts);
    }
}

/* ---- neighbourhoods ---- */

/* Everything in it is there once, its edges are edges of the graph, and all that lead to one count
 * alike: they add up to 1. */
static void check_neighbourhood(const struct gnn *g, const struct neighbourhood *h, size_t most)
{
    CLOSED_BY(free_at) float *lead = take_memory(h->middles, sizeof *lead);
    for (uint32_t t = 0; t < h->tops; t++) {
        uint32_t first = h->top_start[t], end = h->top_start[t + 1];
        CHECK(h->middle[h->upper[first].end] == h->top[t]);
        CHECK(end - first <= most + 1);
        for (uint32_t e = first; e < end; e++)
            CHECK(fabsf(h->upper[e].weight * (float)(end - first) - 1) < 1e-5F);
    }
    for (uint32_t i = 0; i < h->inputs; i++) {
        for (uint32_t e = h->input_start[i]; e < h->input_start[i + 1]; e++) {
            uint32_t to = (uint32_t)h->middle[h->lower[e].end];
            bool is_edge = to == h->input[i];
            for (uint64_t j = g->network.start[to]; j < g->network.start[to + 1]; j++)
                is_edge |= g->network.neighbour[j] == h->input[i];
            CHECK(is_edge);
            lead[h->lower[e].end]++;
        }
        for (uint32_t j = 0; j < i; j++) CHECK(h->input[i] != h->input[j]);
    }
    for (uint32_t e = 0; e < h->input_start[h->inputs]; e++)
        CHECK(fabsf(h->lower[e].weight * lead[h->lower[e].end] - 1) < 1e-5F);
}

TEST(gnn, neighbourhood_is_what_a_batch_depends_on)
{
    CLOSED_BY(release) struct gnn g;
    struct rng rng;
    plant(&g, 300, 10, 4, 0.6);
    rng_init(&rng, 1, 1);
    for (size_t most = 0; most <= 6; most += 3) {
        CLOSED_BY(neighbourhood_maker_fini) struct neighbourhood_maker m;
        CLOSED_BY(neighbourhood_fini) struct neighbourhood h;
        neighbourhood_maker_init(&m, &g, 8, most, 0);
        neighbourhood_init(&h, 8);
        for (uint32_t batch = 0; batch < 20; batch++) {
            h.tops = 8 - batch % 3;
            for (uint32_t t = 0; t < h.tops; t++) h.top[t] = (batch * 8 + t) % 300;
            neighbourhood_make(&m, &h, &rng);
            check_neighbourhood(&g, &h, most > 0 ? most : 300);
        }
    }
}

/* A star of 12 around node 0. */
TEST(gnn, neighbourhood_draws_neighbours_alike)
{
    enum { LEAVES = 12, DRAWN = 5, DRAWS = 20000 };
    CLOSED_BY(release) struct gnn g = {.network = {.nodes = LEAVES + 1}};
    CLOSED_BY(neighbourhood_maker_fini) struct neighbourhood_maker m;
    CLOSED_BY(neighbourhood_fini) struct neighbourhood h;
    struct rng rng;
    int seen[LEAVES + 1] = {0};
    for (uint32_t i = 1; i <= LEAVES; i++) network_add(&g.network, 0, i);
    network_finish(&g.network);
    rng_init(&rng, 1, 1);
    neighbourhood_maker_init(&m, &g, 1, DRAWN, 0);
    neighbourhood_init(&h, 1);
    h.tops = 1;
    h.top[0] = 0;
    for (int i = 0; i < DRAWS; i++) {
        neighbourhood_make(&m, &h, &rng);
        CHECK_EQ(h.middles, 1 + DRAWN);
        for (uint32_t j = 1; j < h.middles; j++) seen[h.middle[j]]++;
    }
    for (int i = 1; i <= LEAVES; i++) /* more than 7 standard deviations */
        CHECK(abs(seen[i] - DRAWS * DRAWN / LEAVES) < 500);
}

/* ---- gradients ---- */

static double loss_of(struct convolution *c, const struct neighbourhood *h)
{
    const struct labels *l = &c->gnn->labels;
    const float *odds = convolution_infer(c, h);
    double loss = 0;
    for (uint32_t t = 0; t < h->tops; t++)
        loss -= log((double)odds[t * l->classes + l->class_of[h->top[t]]]);
    return loss / h->tops;
}

static void draw_row(const void *gnn, uint64_t row, float *values)
{
    struct rng rng;
    rng_init(&rng, 9, row);
    for (size_t i = 0; i < gnn_width(gnn); i++) values[i] = (float)rng_normal(&rng);
}

static float *row_of(struct pool_member *m, locus_key key)
{
    const struct pool_table *t = pool_table_of(m->pool, key);
    return t->values + (key - t->first) * t->stride;
}

/* The loss beside that of a value a little higher, and a little lower. */
static double slope_at(struct convolution *c, const struct neighbourhood *h, float *value)
{
    const float step = 4e-3F, kept = *value;
    *value = kept + step;
    double above = loss_of(c, h);
    *value = kept - step;
    double below = loss_of(c, h);
    *value = kept;
    return (above - below) / (2 * (double)step);
}

/* The slopes of the inputs' values, and then a first step of AdaGrad, which leaves the gradient's
 * square in the row, and the change has the other sign. */
static void check_gradients(struct pool_member *m, void *checked)
{
    enum { TOPS = 6 };
    const struct gnn *g = checked;
    CLOSED_BY(convolution_close) struct convolution c;
    CLOSED_BY(neighbourhood_maker_fini) struct neighbourhood_maker maker;
    CLOSED_BY(neighbourhood_fini) struct neighbourhood h;
    struct rng rng;
    size_t n = gnn_width(g);
    double most = 0;
    rng_init(&rng, 1, 1);
    rows_init(m, GNN_INPUTS, draw_row, g);
    dense_rows_init(&g->plan, m, GNN_DENSE, 5, NULL, 0);
    convolution_open(&c, g, m, TOPS, 0);
    neighbourhood_maker_init(&maker, g, TOPS, 0, 0);
    neighbourhood_init(&h, TOPS);
    h.tops = TOPS;
    for (uint32_t t = 0; t < TOPS; t++) h.top[t] = 7 * t;
    neighbourhood_make(&maker, &h, &rng);
    CLOSED_BY(free_at) double *slopes = take_memory(h.inputs * n, sizeof *slopes);
    CLOSED_BY(free_at) float *before = take_memory(h.inputs * n, sizeof *before);
    for (size_t i = 0; i < h.inputs * n; i++) {
        float *value = row_of(m, h.input[i / n]) + i % n;
        before[i] = *value;
        slopes[i] = slope_at(&c, &h, value);
        most = fmax(most, fabs(slopes[i]));
    }
    CHECK(most > 0.02); /* there is something to check */
    convolution_train(&c, &h);
    for (size_t i = 0; i < h.inputs * n; i++) {
        const float *value = row_of(m, h.input[i / n]) + i % n;
        double gradient = copysign(sqrt((double)value[n]), (double)before[i] - *value);
        if (fabs(gradient - slopes[i]) > 2e-3 + 0.02 * fabs(slopes[i]))
            test_fail(__FILE__, __LINE__, "input %zu: gradient %g, slope %g", i, gradient,
                      slopes[i]);
    }
}

static void run_pool(const struct gnn *g, bool is_baseline, pool_work *work, void *context)
{
    const struct locus_table tables[] = {{.name = "inputs",
                                          .rows = gnn_inputs(g),
                                          .length = (uint32_t)gnn_width(g),
                                          .optimizer = LOCUS_ADAGRAD,
                                          .rule = {.rate = (float)g->options.rate}},
                                         {.name = "dense",
                                          .rows = g->plan.rows,
                                          .length = g->plan.length,
                                          .optimizer = LOCUS_ADAGRAD,
                                          .rule = {.rate = (float)g->options.rate}}};
    pools_run(tables, 2, 1, is_baseline, work, context);
}

/* Each node has two features, one of its own. */
static void give_features(struct gnn *g)
{
    uint32_t nodes = g->network.nodes;
    struct features *f = &g->features;
    *f = (struct features){.nodes = nodes, .count = nodes + 1};
    f->start = take_memory(nodes + 1, sizeof *f->start);
    f->index = take_memory((size_t)2 * nodes, sizeof *f->index);
    f->value = take_memory((size_t)2 * nodes, sizeof *f->value);
    for (uint32_t v = 0; v < nodes; v++) {
        f->start[v + 1] = 2 * ((uint64_t)v + 1);
        f->index[2 * v] = v;
        f->index[2 * v + 1] = nodes;
        f->value[2 * v] = 0.75F;
        f->value[2 * v + 1] = 0.25F;
    }
}

static void prepare(struct gnn *g, bool has_features)
{
    plant(g, 60, 4, 3, 0.9);
    g->options.rate = 1e-3;
    if (has_features)
        give_features(g);
    else
        dense_plan_add(&g->plan, g->options.dim, g->options.hidden, true);
    dense_plan_add(&g->plan, g->options.hidden, 3, false);
}

TEST(gnn, gradients_are_the_slopes_of_the_loss)
{
    for (int features = 0; features < 2; features++) {
        CLOSED_BY(release) struct gnn g;
        prepare(&g, features == 1);
        run_pool(&g, true, check_gradients, &g);
    }
}

/* ---- steps ---- */

/* Fifteen steps take each node twice. */
enum { STEPS = 90, TWICE = 15 };

struct run {
    struct gnn *gnn;
    double loss[STEPS];
};

/* The losses of some steps. */
static void train(struct pool_member *m, void *run)
{
    struct run *r = run;
    CLOSED_BY(convolution_close) struct convolution c;
    CLOSED_BY(neighbourhood_maker_fini) struct neighbourhood_maker maker;
    CLOSED_BY(neighbourhood_fini) struct neighbourhood h;
    struct rng rng;
    rng_init(&rng, 1, 1);
    rows_init(m, GNN_INPUTS, draw_row, r->gnn);
    dense_rows_init(&r->gnn->plan, m, GNN_DENSE, 5, NULL, 0);
    pool_quiesce(m);
    convolution_open(&c, r->gnn, m, 8, 3);
    neighbourhood_maker_init(&maker, r->gnn, 8, 3, r->gnn->options.dropout);
    neighbourhood_init(&h, 8);
    for (int s = 0; s < STEPS; s++) {
        h.tops = 8;
        for (uint32_t t = 0; t < 8; t++) h.top[t] = ((uint32_t)s * 8 + t) % 60;
        neighbourhood_make(&maker, &h, &rng);
        r->loss[s] = convolution_train(&c, &h);
    }
}

TEST(gnn, locus_and_plain_arrays_learn_the_same)
{
    for (int features = 0; features < 2; features++) {
        CLOSED_BY(release) struct gnn g;
        struct run runs[2] = {{.gnn = &g}, {.gnn = &g}};
        double first = 0, last = 0;
        prepare(&g, features == 1);
        g.options.dropout = 0.25;
        g.options.decay = 1e-3;
        g.options.rate = 0.1;
        for (int i = 0; i < 2; i++) run_pool(&g, i == 1, train, &runs[i]);
        for (int s = 0; s < STEPS; s++) {
            CHECK(fabs(runs[0].loss[s] - runs[1].loss[s]) < 1e-3 * fabs(runs[1].loss[s]));
            if (s < TWICE) first += runs[0].loss[s];
            if (s >= STEPS - TWICE) last += runs[0].loss[s];
        }
        CHECK(last < 0.8 * first);
    }
}

/* 0 1 2 0 1 2 are found to be 0 2 1 0 0 1; nobody is a 3. */
TEST(gnn, accuracy_f1_is_the_mean_of_classes)
{
    const double tally[] = {2, 3, 2, 0, 2, 2, 0, 1, 2, 0, 0, 0};
    CHECK(fabs(accuracy_f1(tally, 4) - 0.8 / 3) < 1e-12);
}
