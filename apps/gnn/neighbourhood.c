#include "neighbourhood.h"

#include "fail.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

void neighbourhood_init(struct neighbourhood *h, size_t tops_max)
{
    *h = (struct neighbourhood){0};
    h->top = take_memory(tops_max, sizeof *h->top);
    h->top_start = take_memory(tops_max + 1, sizeof *h->top_start);
}

void neighbourhood_fini(struct neighbourhood *h)
{
    free(h->top);
    free(h->middle);
    free(h->input);
    free(h->top_start);
    free(h->upper);
    free(h->input_start);
    free(h->lower);
    *h = (struct neighbourhood){0};
}

static uint32_t highest_degree(const struct network *n)
{
    uint32_t most = 0;
    for (uint32_t v = 0; v < n->nodes; v++)
        if (network_degree(n, v) > most) most = network_degree(n, v);
    return most;
}

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t drawn_of(const struct gnn *g, size_t neighbours)
{
    return neighbours > 0 ? neighbours : highest_degree(&g->network);
}

size_t neighbourhood_middles_max(const struct gnn *g, size_t tops_max, size_t neighbours)
{
    return at_most(tops_max * (1 + drawn_of(g, neighbours)), g->network.nodes);
}

size_t neighbourhood_inputs_max(const struct gnn *g, size_t tops_max, size_t neighbours)
{
    size_t middles = neighbourhood_middles_max(g, tops_max, neighbours);
    if (gnn_has_features(g)) return g->features.count;
    return at_most(middles * (1 + drawn_of(g, neighbours)), g->network.nodes);
}

void neighbourhood_maker_init(struct neighbourhood_maker *m, const struct gnn *g, size_t tops_max,
                              size_t neighbours, double dropout)
{
    *m =
        (struct neighbourhood_maker){.gnn = g, .neighbours = neighbours, .dropout = (float)dropout};
    places_init(&m->middles, neighbourhood_middles_max(g, tops_max, neighbours));
    places_init(&m->inputs, neighbourhood_inputs_max(g, tops_max, neighbours));
    m->chosen = take_memory(drawn_of(g, neighbours), sizeof *m->chosen);
}

void neighbourhood_maker_fini(struct neighbourhood_maker *m)
{
    places_fini(&m->middles);
    places_fini(&m->inputs);
    free(m->chosen);
    free(m->input_of);
    free(m->middle_of);
    free(m->weight);
    *m = (struct neighbourhood_maker){0};
}

/* ---- neighbours ---- */

static bool is_among(const uint32_t *list, uint32_t count, uint32_t wanted)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == wanted) return true;
    return false;
}

/* Different ones, each set equally likely (Floyd's method), into m->chosen. */
static uint32_t choose(struct neighbourhood_maker *m, uint32_t node, struct rng *rng)
{
    const struct network *n = &m->gnn->network;
    uint32_t degree = network_degree(n, node), count = (uint32_t)m->neighbours;
    struct rng own;
    if (count == 0 || degree <= count) {
        for (uint32_t i = 0; i < degree; i++) m->chosen[i] = i;
        return degree;
    }
    if (m->is_fixed) {
        rng_init(&own, m->gnn->options.common.seed, UINT64_C(5) << 56 | node);
        rng = &own;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t last = degree - count + i, drawn = (uint32_t)rng_below(rng, (uint64_t)last + 1);
        m->chosen[i] = is_among(m->chosen, i, drawn) ? last : drawn;
    }
    return count;
}

/* Of the mean of a node and its chosen neighbours. */
static float weight_of(uint32_t count)
{
    return 1 / (1 + (float)count);
}

/* ---- the upper layer ---- */

static uint32_t middle_place(struct neighbourhood_maker *m, struct neighbourhood *h, uint32_t node)
{
    if (h->middles == h->middle_capacity) {
        h->middle_capacity = h->middle_capacity ? 2 * h->middle_capacity : 256;
        h->middle =
            resize_memory(h->middle, h->middle_capacity, sizeof *h->middle, "edges of a batch");
    }
    uint32_t place = places_find(&m->middles, h->middle, h->middles, node);
    if (place == h->middles) h->middle[h->middles++] = node;
    return place;
}

static void make_upper(struct neighbourhood_maker *m, struct neighbourhood *h, struct rng *rng)
{
    const struct network *n = &m->gnn->network;
    uint32_t edges = 0;
    h->middles = 0;
    places_clear(&m->middles);
    for (uint32_t t = 0; t < h->tops; t++) {
        uint32_t node = h->top[t], count = choose(m, node, rng);
        uint64_t first = n->start[node];
        if (edges + count + 1 > h->upper_capacity) {
            h->upper_capacity = 2 * ((size_t)edges + count + 1);
            h->upper =
                resize_memory(h->upper, h->upper_capacity, sizeof *h->upper, "edges of a batch");
        }
        h->top_start[t] = edges;
        float weight = weight_of(count);
        h->upper[edges++] = (struct neighbourhood_edge){middle_place(m, h, node), weight};
        for (uint32_t i = 0; i < count; i++) {
            uint32_t place = middle_place(m, h, n->neighbour[first + m->chosen[i]]);
            h->upper[edges++] = (struct neighbourhood_edge){place, weight};
        }
    }
    h->top_start[h->tops] = edges;
}

/* ---- the lower layer ---- */

static void add_edge(struct neighbourhood_maker *m, struct neighbourhood *h, locus_key row,
                     uint32_t middle, float weight)
{
    if (m->edges == m->edge_capacity) {
        m->edge_capacity = m->edge_capacity ? 2 * m->edge_capacity : 4096;
        m->input_of =
            resize_memory(m->input_of, m->edge_capacity, sizeof *m->input_of, "edges of a batch");
        m->middle_of =
            resize_memory(m->middle_of, m->edge_capacity, sizeof *m->middle_of, "edges of a batch");
        m->weight =
            resize_memory(m->weight, m->edge_capacity, sizeof *m->weight, "edges of a batch");
    }
    if (h->inputs == h->input_capacity) {
        h->input_capacity = h->input_capacity ? 2 * h->input_capacity : 1024;
        h->input = resize_memory(h->input, h->input_capacity, sizeof *h->input, "edges of a batch");
        h->input_start = resize_memory(h->input_start, h->input_capacity + 1,
                                       sizeof *h->input_start, "edges of a batch");
    }
    uint32_t place = places_find(&m->inputs, h->input, h->inputs, row);
    if (place == h->inputs) h->input[h->inputs++] = row;
    m->input_of[m->edges] = place;
    m->middle_of[m->edges] = middle;
    m->weight[m->edges++] = weight;
}

/* Is this value of this node left out of the batch? The same wherever the batch needs the node. */
static bool is_dropped(const struct neighbourhood_maker *m, uint64_t salt, uint64_t value)
{
    return (float)(rng_mix(salt ^ value) >> 40) * 0x1p-24F < m->dropout;
}

static void add_node(struct neighbourhood_maker *m, struct neighbourhood *h, uint32_t node,
                     uint32_t middle, float weight, uint64_t salt)
{
    const struct features *f = &m->gnn->features;
    if (!gnn_has_features(m->gnn)) {
        add_edge(m, h, node, middle, weight);
        return;
    }
    float kept = weight / (1 - m->dropout);
    for (uint64_t i = f->start[node]; i < f->start[node + 1]; i++) {
        if (m->dropout > 0 && is_dropped(m, salt, i)) continue;
        add_edge(m, h, f->index[i], middle, kept * f->value[i]);
    }
}

/* From the order of the middle nodes to that of the inputs. */
static void sort_lower(struct neighbourhood_maker *m, struct neighbourhood *h)
{
    if (m->edges > h->lower_capacity) {
        h->lower_capacity = m->edges + m->edges / 4;
        h->lower = resize_memory(h->lower, h->lower_capacity, sizeof *h->lower, "edges of a batch");
    }
    uint32_t sum = 0;
    memset(h->input_start, 0, (h->inputs + 1) * sizeof *h->input_start);
    for (size_t i = 0; i < m->edges; i++) h->input_start[m->input_of[i]]++;
    for (uint32_t i = 0; i <= h->inputs; i++) h->input_start[i] = sum += h->input_start[i];
    for (size_t i = m->edges; i-- > 0;)
        h->lower[--h->input_start[m->input_of[i]]] =
            (struct neighbourhood_edge){m->middle_of[i], m->weight[i]};
}

static void make_lower(struct neighbourhood_maker *m, struct neighbourhood *h, struct rng *rng)
{
    const struct network *n = &m->gnn->network;
    uint64_t salt = rng_next(rng);
    h->inputs = 0;
    m->edges = 0;
    places_clear(&m->inputs);
    for (uint32_t i = 0; i < h->middles; i++) {
        uint32_t node = (uint32_t)h->middle[i], count = choose(m, node, rng);
        float weight = weight_of(count);
        add_node(m, h, node, i, weight, salt);
        for (uint32_t j = 0; j < count; j++)
            add_node(m, h, n->neighbour[n->start[node] + m->chosen[j]], i, weight, salt);
    }
    if (h->inputs > 0) sort_lower(m, h);
}

void neighbourhood_make(struct neighbourhood_maker *m, struct neighbourhood *h, struct rng *rng)
{
    make_upper(m, h, rng);
    make_lower(m, h, rng);
}

/* Rows that a node's loaders are ahead, at most: locus remembers LOCUS_WAITING_KEYS_MAX. */
enum { ROWS_AHEAD = LOCUS_WAITING_KEYS_MAX / 2, AHEAD_MIN = 2 };

static size_t batches_ahead(const struct gnn *g, const struct pool_member *m)
{
    size_t rows = neighbourhood_inputs_max(g, g->options.batch, g->options.neighbours);
    size_t ahead = rows ? ROWS_AHEAD / m->pool->workers / rows : 0;
    if (ahead < AHEAD_MIN) return AHEAD_MIN;
    return ahead < EPOCHS_AHEAD ? ahead : EPOCHS_AHEAD;
}

/* An equal share of what its node has. */
static void take_share(struct epochs *e, const struct pool_member *m)
{
    const struct labels *l = &e->gnn->labels;
    uint32_t *own = take_memory(l->count[LABELS_TRAIN], sizeof *own), count = 0;
    uint64_t first, end;
    for (uint32_t i = 0; i < l->count[LABELS_TRAIN]; i++) {
        uint32_t node = l->list[LABELS_TRAIN][i];
        if (e->gnn->part_of[node] == pool_node(m)) own[count++] = node;
    }
    pool_share(count, m->index, m->pool->workers, &first, &end);
    e->count = (uint32_t)(end - first);
    e->node = take_memory(e->count, sizeof *e->node);
    for (uint32_t i = 0; i < e->count; i++) e->node[i] = own[first + i];
    free(own);
}

/* What is drawn in an epoch follows from the seed, the worker and the epoch; but an order is that
 * of the one before, shuffled. */
static void begin_epoch(struct epochs *e)
{
    rng_init(&e->rng, e->gnn->options.common.seed, e->epochs << 32 | (2 + e->place));
    e->epochs++;
    e->at = 0;
    rng_shuffle(&e->rng, e->node, e->count);
}

/* Where so many are over. */
static void go_to(struct epochs *e, uint64_t epochs)
{
    while (e->epochs < epochs) begin_epoch(e);
    e->at = e->count;
}

static bool begin_batch(struct epochs *e)
{
    if (e->at < e->count) return true;
    if (e->epochs == e->gnn->options.common.epochs) return false;
    begin_epoch(e);
    return true;
}

static bool fill(void *epochs, locus_loader *loader, void *to)
{
    struct epochs *e = epochs;
    struct neighbourhood *h = to;
    if (!begin_batch(e)) return false;
    for (h->tops = 0; h->tops < e->gnn->options.batch && e->at < e->count;)
        h->top[h->tops++] = e->node[e->at++];
    h->is_last = e->at == e->count;
    neighbourhood_make(&e->maker, h, &e->rng);
    world_computed(WORLD_PREPARED, h->tops);
    locus_clock now = (locus_clock)e->batches++;
    if (loader) must_intend(locus_loader_intent(loader, h->input, h->inputs, now, now + 1));
    return true;
}

void epochs_open(struct epochs *e, const struct gnn *g, struct pool_member *m, uint64_t epochs)
{
    const struct gnn_options *o = &g->options;
    *e = (struct epochs){.gnn = g, .batches = pool_clock(m), .place = m->place};
    take_share(e, m);
    go_to(e, epochs);
    neighbourhood_maker_init(&e->maker, g, o->batch, o->neighbours, o->dropout);
    e->ahead = batches_ahead(g, m);
    for (size_t i = 0; i < e->ahead; i++) {
        e->list[i] = take_memory(1, sizeof *e->list[i]);
        neighbourhood_init(e->list[i], o->batch);
    }
    must(locus_feed_open(m->worker, fill, e, (void **)e->list, e->ahead, &e->feed),
         "opening a loader");
}

const struct neighbourhood *epochs_next(struct epochs *e)
{
    return locus_feed_next(e->feed);
}

void epochs_close(struct epochs *e)
{
    must(locus_feed_close(e->feed), "closing a loader");
    neighbourhood_maker_fini(&e->maker);
    for (size_t i = 0; i < e->ahead; i++) {
        neighbourhood_fini(e->list[i]);
        free(e->list[i]);
    }
    free(e->node);
    *e = (struct epochs){0};
}
