/*
 * skipgram.h - a training step of skip-gram with negative sampling (Mikolov et al., 2013): for each
 * pair of a neighbour and the word in the middle, the middle is to be told from words drawn at
 * random. As in the original program, the neighbour's input row meets the output rows; a pair's
 * negatives that are the middle itself are passed over.
 *
 * Callers   one worker's thread
 * Memory    the step's, for the largest batch
 * Waiting   for rows of other nodes
 * Life      open; skipgram_train() for each batch, one clock each; close
 */
#ifndef WV_SKIPGRAM_H
#define WV_SKIPGRAM_H

#include "draft.h"
#include "windows.h"

struct skipgram {
    const struct wv *wv;
    struct pool_member *member;
    struct draft draft;
    locus_key *keys; /* of the batch, then its negatives, */
    size_t drawn;    /*   so many by now */
    float *scores;   /* of a pair: the middle, then negatives */
    /* of each word: 1 + the place of its output among the rows that are copied; 0: it is not */
    uint32_t *copied;
    float *gradient; /* of a pair's input row */
};

void skipgram_open(struct skipgram *, const struct wv *, struct pool_member *);
/* Returns the sum of the losses of the batch's pairs. */
double skipgram_train(struct skipgram *, const struct window_batch *);
void skipgram_close(struct skipgram *);

#endif
