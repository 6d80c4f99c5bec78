/*
 * windows.h - a worker's share of the text as training batches, prepared ahead by its loader
 * (locus_feed_open()): sentences without rare words, frequent ones thinned out, and for each word the
 * words around it in a window of random width, as the original program does it. The loader signals
 * intent and has the negative samples prepared.
 *
 * A batch is some words in the middle, and takes one clock.
 *
 * Callers   one worker's thread; the filling runs on its loader's
 * Memory    the batches
 * Waiting   windows_next() for the loader
 * Life      open; windows_next() until it returns NULL, after the last epoch; close, at any time
 */
#ifndef WV_WINDOWS_H
#define WV_WINDOWS_H

#include "places.h"
#include "rng.h"
#include "vocabulary.h"
#include "wv.h"

/* The rows of a batch come once each: pairs refer to them by their places in `keys`. */
struct window_batch {
    uint32_t middles, pairs, keys_used, negatives;
    uint32_t *middle;           /* of each: place of its output row */
    uint32_t *pairs_end;        /* of each: the first pair behind its own */
    uint32_t *neighbour;        /* of each pair: place of its input row */
    locus_key *keys;            /* of rows that are not negatives */
    locus_key *negatives_drawn; /* without locus */
    locus_sample sample;        /* with locus */
    uint64_t words;             /* of the text that it stands for */
    bool is_last;               /* of its epoch; it may have no pairs */
};

enum { WINDOWS_SENTENCE_MAX = 1000 };

struct windows {
    const struct wv *wv;
    const struct pool_member *member;
    locus_feed *feed;
    struct text text;
    struct rng rng;
    double *keep; /* of each word */
    uint32_t sentence[WINDOWS_SENTENCE_MAX];
    size_t sentence_length, sentence_at;
    uint64_t words;           /* read, and in no batch yet */
    uint64_t batches, epochs; /* the clock of the next one; so far */
    unsigned place;           /* of the worker, among all */
    int worker;               /* its id; -1 where it draws the negatives */
    bool is_over;             /* the epoch's text is */
    struct window_batch **list;
    size_t count;
    struct places places; /* finds keys that come again in a batch */
};

/* Behind so many epochs. */
void windows_open(struct windows *, const struct wv *, struct pool_member *, uint64_t epochs);
/* Valid until the next call. */
const struct window_batch *windows_next(struct windows *);
void windows_close(struct windows *);

/* The largest batch. */
size_t windows_pairs_max(const struct wv *);
size_t windows_keys_max(const struct wv *);
size_t windows_negatives_max(const struct wv *);

#endif
