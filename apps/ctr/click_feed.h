/*
 * click_feed.h - a worker's examples as batches, prepared far ahead by its loader (locus_feed_open()),
 * which signals intent for each batch's different features. A batch is a clock.
 *
 * Each worker has a part of the examples, which come in random order: those that were read in
 * another one in each epoch, planted ones as they are numbered.
 *
 * Callers   one worker's thread; the filling runs on its loader's
 * Memory    the batches that are ahead
 * Waiting   click_feed_next() for the loader
 * Life      open; click_feed_next() until it returns NULL, after the last epoch; close, at any time
 */
#ifndef CTR_CLICK_FEED_H
#define CTR_CLICK_FEED_H

#include "click_batch.h"
#include "ctr.h"
#include "rng.h"

struct click_feed {
    const struct ctr *ctr;
    locus_feed *feed;
    struct places places;
    struct planted_click *planted_click;
    struct rng rng;
    uint32_t *order; /* of this worker's examples; NULL where they are planted */
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
