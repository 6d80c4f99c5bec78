/*
 * word_rows.h - a worker's access to the rows of counts: many words at a time, changed in a copy,
 * of which the difference is added. With the baseline they are changed where they are. And rows of
 * tokens, for checkpoints.
 *
 * Callers   one worker's thread; of topics, collectively, that of every worker of every node
 * Memory    a batch of rows, twice; of topics 8 bytes a token of the worker, during a call
 * Waiting   for rows of other nodes; topic_rows_write() for all workers
 */
#ifndef LDA_WORD_ROWS_H
#define LDA_WORD_ROWS_H

#include "lda.h"
#include "shelf.h"

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

/* The topics of all tokens in rows, so that a checkpoint has them: counts alone do not say which
 * token has which topic. A second table has the order of each document's topics, which draws go
 * through: a worker that goes on has the same bits. A row has the tokens of the corpus one after
 * the other, as many as there are topics, for all rows have one length. So it does not matter how
 * many workers there are. */

/* Rows of each of the two tables. */
uint64_t topic_rows_count(const struct lda *);

/* `tokens`: the first of the two tables. */
void topic_rows_write(const struct shelf *, struct pool_member *, enum lda_table tokens);
void topic_rows_read(struct shelf *, struct pool_member *, enum lda_table tokens);

#endif
