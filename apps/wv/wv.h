/*
 * wv.h - what the parts of wv share: the options, the vocabulary, and which keys its rows have.
 *
 * Two rows for each word: as the word in the middle's neighbour (input, the word vector) and as
 * what is predicted (output). Words are numbered from the most frequent one.
 *
 * Callers   main() fills it in; workers read
 * Memory    the parts'
 * Waiting   never
 */
#ifndef WV_WV_H
#define WV_WV_H

#include "pool.h"
#include "settings.h"
#include "vocabulary.h"

enum wv_optimizer { WV_SGD, WV_ADAGRAD };
enum wv_table { WV_INPUTS, WV_OUTPUTS };

struct wv_options {
    struct settings common;
    const char *analogies, *similarity, *text;
    uint64_t dim, window, min_count, negatives, batch;
    double rate, subsample;
    int optimizer;
};

struct wv {
    struct wv_options options;
    struct vocabulary vocabulary;
    struct noise noise;               /* the baseline's negative words */
    locus_distribution *distribution; /* NULL for the baseline */
    struct judge *judge;
};

static inline size_t wv_length(const struct wv *w)
{
    return (size_t)w->options.dim * (w->options.optimizer == WV_ADAGRAD ? 2 : 1);
}

static inline locus_key wv_input_key(uint32_t word)
{
    return word;
}

static inline locus_key wv_output_key(const struct wv *w, uint32_t word)
{
    return (locus_key)w->vocabulary.words.count + word;
}

/* What training begins with. Every worker of every node calls it. */
void wv_first_rows(struct pool_member *, const struct wv *);

#endif
