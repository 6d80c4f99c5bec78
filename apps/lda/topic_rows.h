/*
 * topic_rows.h - the topics of all tokens in rows, so that a checkpoint has them: counts alone do
 * not say which token has which topic. A second table has the order of each document's topics,
 * which draws go through: a worker that goes on has the same bits.
 *
 * A row has the tokens of the corpus one after the other, as many as there are topics, for all rows
 * have one length. So it does not matter how many workers there are.
 *
 * Callers   every worker of every node, collectively, where there are checkpoints
 * Memory    8 bytes a token of the worker, during a call
 * Waiting   for rows of other nodes; topic_rows_write() for all workers
 */
#ifndef LDA_TOPIC_ROWS_H
#define LDA_TOPIC_ROWS_H

#include "shelf.h"

/* Of each of the two tables. */
uint64_t topic_rows_count(const struct lda *);

/* `tokens`: the first of the two tables. */
void topic_rows_write(const struct shelf *, struct pool_member *, enum lda_table tokens);
void topic_rows_read(struct shelf *, struct pool_member *, enum lda_table tokens);

#endif
