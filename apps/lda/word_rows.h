/*
 * word_rows.h - a worker's access to the rows of counts: many words at a time, changed in a copy,
 * of which the difference is added. With the baseline they are changed where they are.
 *
 * Callers   one worker's thread
 * Memory    a batch of rows, twice
 * Waiting   for rows of other nodes
 */
#ifndef LDA_WORD_ROWS_H
#define LDA_WORD_ROWS_H

#include "lda.h"

struct word_rows {
    const struct lda *lda;
    struct pool_member *member;
    size_t topics, batch;
    locus_key *keys;
    float *before, *now;
};

void word_rows_open(struct word_rows *, const struct lda *, struct pool_member *);
void word_rows_close(struct word_rows *);

/* Calls `use` with each word's row, which it may change. */
typedef void word_rows_use(void *context, uint32_t word, float *row);
void word_rows_visit(struct word_rows *, const uint32_t *words, size_t count, word_rows_use *,
                     void *context);

/* One of the rows of the second table; and adds to it what `now` is more than `before`, where
 * baselines do so one worker after the other: all call it. Gives up when a count is too large to be
 * exact. */
void word_rows_read(struct word_rows *, enum lda_total row, float *values);
void word_rows_write(struct word_rows *, enum lda_total row, const float *values);
void word_rows_add(struct word_rows *, enum lda_total row, const float *values);

#endif
