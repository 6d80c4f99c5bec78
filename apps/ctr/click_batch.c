#include "click_batch.h"

#include "fail.h"

#include <stdlib.h>
#include <string.h>

void click_batch_open(struct click_batch *b, size_t examples_max, size_t entries)
{
    *b = (struct click_batch){0};
    b->keys = take_memory(entries, sizeof *b->keys);
    b->starts = take_memory(examples_max + 1, sizeof *b->starts);
    b->place = take_memory(entries, sizeof *b->place);
    b->field = take_memory(entries, sizeof *b->field);
    b->value = take_memory(entries, sizeof *b->value);
    b->is_click = take_memory(examples_max, sizeof *b->is_click);
    b->weight = take_memory(examples_max, sizeof *b->weight);
}

void click_batch_close(struct click_batch *b)
{
    free(b->keys);
    free(b->starts);
    free(b->place);
    free(b->field);
    free(b->value);
    free(b->is_click);
    free(b->weight);
    *b = (struct click_batch){0};
}

void click_batch_clear(struct click_batch *b, struct places *places)
{
    b->examples = b->entries = b->key_count = 0;
    b->is_last = false;
    b->weights = 0;
    places_clear(places);
}

void click_batch_add(struct click_batch *b, struct places *places, const struct click *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        locus_key key = c->feature[i];
        uint32_t place = places_find(places, b->keys, b->key_count, key);
        if (place == b->key_count) b->keys[b->key_count++] = key;
        b->place[b->entries + i] = place;
    }
    memcpy(b->field + b->entries, c->field, c->count * sizeof *b->field);
    memcpy(b->value + b->entries, c->value, c->count * sizeof *b->value);
    b->entries += c->count;
    b->weight[b->examples] = c->weight;
    b->weights += (double)c->weight;
    b->is_click[b->examples++] = c->is_click;
    b->starts[b->examples] = b->entries;
}

/* Batches that the loader is ahead: AdaPM has 100 (Appendix C), so that rows have the time to come.
 * Where there are no other nodes a few will do; and no more entries than this in all. */
enum { AHEAD = 100, AHEAD_ALONE = 8, AHEAD_LEAST = 4, AHEAD_ENTRIES = 1 << 22 };

static void begin_epoch(struct click_feed *f)
{
    f->epochs++;
    f->at = 0;
    rng_shuffle(&f->rng, f->order, f->count);
}

/* Where so many epochs are over: an order follows from those before. */
static void go_to(struct click_feed *f, uint64_t epochs)
{
    while (f->epochs < epochs) begin_epoch(f);
    f->at = f->count;
}

static bool fill(void *feed, locus_loader *loader, void *batch)
{
    struct click_feed *f = feed;
    struct click_batch *b = batch;
    const struct ctr_options *o = &f->ctr->options;
    if (f->at == f->count) {
        if (f->epochs == o->common.epochs) return false;
        begin_epoch(f);
    }
    click_batch_clear(b, &f->places);
    while (b->examples < o->batch && f->at < f->count) {
        struct click c = clicks_get(&f->ctr->clicks, f->first + f->order[f->at]);
        click_batch_add(b, &f->places, &c);
        f->at++;
    }
    b->is_last = f->at == f->count;
    world_computed(WORLD_PREPARED, b->examples);
    locus_clock now = (locus_clock)f->batches++;
    if (loader) must_intend(locus_loader_intent(loader, b->keys, b->key_count, now, now + 1));
    return true;
}

static size_t batches_ahead(const struct pool_member *m, size_t entries)
{
    size_t wanted = m->pool->size > 1 ? AHEAD : AHEAD_ALONE;
    size_t fit = AHEAD_ENTRIES / entries;
    if (wanted > fit) wanted = fit;
    return wanted > AHEAD_LEAST ? wanted : AHEAD_LEAST;
}

void click_feed_open(struct click_feed *f, const struct ctr *c, struct pool_member *m,
                     uint64_t epochs)
{
    uint64_t end;
    size_t entries = ctr_entries(c, c->options.batch);
    *f = (struct click_feed){
        .ctr = c, .batches = pool_clock(m), .list_count = batches_ahead(m, entries)};
    pool_share(c->train, m->place, m->total, &f->first, &end);
    f->count = end - f->first;
    f->order = take_memory(f->count, sizeof *f->order);
    for (uint64_t i = 0; i < f->count; i++) f->order[i] = (uint32_t)i;
    rng_init(&f->rng, c->options.common.seed, 16 + m->place);
    go_to(f, epochs);
    places_init(&f->places, entries);
    f->batch = take_memory(f->list_count, sizeof *f->batch);
    f->list = take_memory(f->list_count, sizeof *f->list);
    for (size_t i = 0; i < f->list_count; i++) {
        click_batch_open(&f->batch[i], c->options.batch, entries);
        f->list[i] = &f->batch[i];
    }
    must(locus_feed_open(m->worker, fill, f, f->list, f->list_count, &f->feed), "opening a loader");
}

const struct click_batch *click_feed_next(struct click_feed *f)
{
    return locus_feed_next(f->feed);
}

void click_feed_close(struct click_feed *f)
{
    must(locus_feed_close(f->feed), "closing a loader");
    for (size_t i = 0; i < f->list_count; i++) click_batch_close(&f->batch[i]);
    free(f->batch);
    free(f->list);
    free(f->order);
    places_fini(&f->places);
}
