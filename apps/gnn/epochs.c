#include "epochs.h"

#include "fail.h"

#include <stdlib.h>

/* Rows that a node's loaders are ahead, at most: locus remembers LOCUS_WAITING_KEYS_MAX. */
enum { ROWS_AHEAD = LOCUS_WAITING_KEYS_MAX / 2, AHEAD_MIN = 2 };

static size_t batches_ahead(const struct gnn *g, const struct pool_member *m)
{
    size_t rows = neighbourhood_inputs_max(g, g->options.batch, g->options.neighbours);
    size_t ahead = ROWS_AHEAD / m->pool->workers / rows;
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
        if (e->gnn->part_of[node] == (uint32_t)m->pool->rank) own[count++] = node;
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
    *e = (struct epochs){.gnn = g, .place = m->place};
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
