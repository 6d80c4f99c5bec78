/*
 * feed.h - batches of a worker's facts, in a new random order each epoch, prepared ahead by its
 * loader (locus_feed_open()), which signals intent for their rows and has their negative samples
 * prepared.
 *
 * A batch takes one clock, from that on which the worker has when it opens. Portions are a few batches, so
 * that small ones are handed over together; the last of an epoch may be shorter.
 *
 * Where all entities are negatives, each batch has all of them, in order, and the intent for them is
 * one for each part of an epoch.
 *
 * Callers   one worker's thread; the filling runs on its loader's
 * Memory    the portions
 * Waiting   feed_next() for the loader
 * Life      open; feed_next() until it returns NULL, after the last epoch; close, at any time
 */
#ifndef KGE_FEED_H
#define KGE_FEED_H

#include "places.h"
#include "rng.h"
#include "task.h"

/* The entities and relations of a batch come once each: facts refer to them by their places in
 * `keys`. */
struct batch {
    uint32_t facts, entities, relations, negatives;
    uint32_t *subject, *object; /* of each fact: place in keys */
    /* place in keys of the row that a question for that side uses */
    uint32_t *relation[MODEL_SIDES];
    float *uses;              /* of each key: how many questions regularize it */
    locus_key *keys;          /* entities, then relations */
    locus_key *negative_keys; /* without locus: drawn by the loader */
    locus_sample sample;      /* with locus: the next `negatives` keys of it */
    bool is_last_of_sample;
    bool is_last; /* of its part of an epoch */
};

struct feed {
    const struct task *task;
    const struct pool_member *member;
    locus_feed *loader;
    struct rng rng;
    uint32_t *order; /* of the worker's facts */
    size_t count, at, end;
    uint64_t batches, epochs; /* the clock of the next one; so far */
    uint64_t part, parts;     /* of the epoch: begun, and all; `end` is that of the part */
    int worker;               /* its id; -1: no sample is the manager's */
    bool signals;             /* intent */
    struct portion **portions;
    size_t portion_count, portion_batches;
    struct portion *taken;
    size_t taken_at;
    struct places places; /* finds keys that come again in a batch */
    locus_key *announced; /* the keys of a portion */
};

/* An epoch has `parts` parts, each with at least a batch; the first one is that behind `from`. */
void feed_open(struct feed *, const struct task *, struct pool_member *,
               const struct progress *from, uint64_t parts);
/* Valid until the next call. NULL: all epochs are over. A worker without facts has no batches at
 * all. */
const struct batch *feed_next(struct feed *);
void feed_close(struct feed *);

/* The largest batch: keys without negatives, relations among them, and negatives. */
size_t feed_keys_max(const struct task *);
size_t feed_relations_max(const struct task *);
size_t feed_negatives(const struct task *);

#endif
