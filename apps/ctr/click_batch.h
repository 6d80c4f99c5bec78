/*
 * click_batch.h - some examples for one step: their different features, once each, and which
 * example has which of them. And a worker's examples as such batches.
 *
 * Callers   one thread at a time; of a feed a worker's, and its loader's
 * Memory    for the most examples, each with the most entries; of a feed for batches that are ahead
 * Waiting   click_feed_next() for the loader
 * Life      open; clear and add, again and again; close. Of a feed: open; click_feed_next() until
 *           it returns NULL, after the last epoch; close, at any time
 */
#ifndef CTR_CLICK_BATCH_H
#define CTR_CLICK_BATCH_H

#include "clicks.h"
#include "ctr.h"
#include "places.h"
#include "rng.h"

struct click_batch {
    uint32_t examples, entries, key_count;
    locus_key *keys;  /* different ones; features are keys */
    uint32_t *starts; /* of each example among the entries, and the end */
    uint32_t *place;  /* of an entry's key among the keys */
    uint16_t *field;
    float *value;
    bool *is_click;
    float *weight;
    double weights; /* their sum */
    bool is_last;   /* of its epoch; it may have no examples */
};

void click_batch_open(struct click_batch *, size_t examples_max, size_t entries);
void click_batch_close(struct click_batch *);
void click_batch_clear(struct click_batch *, struct places *);
/* `places` are those of the batch that was cleared last, for as many keys as it has entries. */
void click_batch_add(struct click_batch *, struct places *places, const struct click *);

/* A worker's part of the examples, prepared far ahead by its loader, which signals intent for each
 * batch's different features. A batch is a clock. Examples come in random order, another one in
 * each epoch. */
struct click_feed {
    const struct ctr *ctr;
    locus_feed *feed;
    struct places places;
    struct rng rng;
    uint32_t *order; /* of this worker's examples */
    uint64_t first, count, at, epochs, batches;
    struct click_batch *batch;
    void **list;
    size_t list_count;
};

/* Behind so many epochs. */
void click_feed_open(struct click_feed *, const struct ctr *, struct pool_member *,
                     uint64_t epochs);
/* Valid until the next call. */
const struct click_batch *click_feed_next(struct click_feed *);
void click_feed_close(struct click_feed *);

#endif
