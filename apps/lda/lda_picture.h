/*
 * lda_picture.h - the most frequent topics with their likeliest words, as SVG (--picture).
 *
 * Callers   the first worker of rank 0
 * Memory    some numbers a topic
 * Waiting   for rows of other nodes, and for the disk
 */
#ifndef LDA_LDA_PICTURE_H
#define LDA_LDA_PICTURE_H

#include "likeliest.h"

void lda_picture_write(const struct lda *, struct word_rows *);

#endif
