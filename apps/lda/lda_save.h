/*
 * lda_save.h - what has been found, when all are done: the counts as safetensors, and each topic's
 * likeliest words.
 *
 * Callers   the first worker of rank 0
 * Memory    --top numbers a topic
 * Waiting   for rows of other nodes, and for the disk
 */
#ifndef LDA_LDA_SAVE_H
#define LDA_LDA_SAVE_H

#include "word_rows.h"

/* Tensors `word_topics`, `topic_totals`, and the words' names where they have some. */
void lda_save(const struct lda *, struct pool_member *, struct word_rows *);
void lda_show_topics(const struct lda *, struct word_rows *);

#endif
