/*
 * click_batch.h - some examples for one step: their different features, once each, and which
 * example has which of them.
 *
 * Callers   one thread at a time
 * Memory    for the most examples, each with the most entries
 * Waiting   never
 * Life      open; clear and add, again and again; close
 */
#ifndef CTR_CLICK_BATCH_H
#define CTR_CLICK_BATCH_H

#include "clicks.h"
#include "places.h"

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

#endif
