/*
 * likeliest.h - each topic's likeliest words.
 *
 * Callers   the first worker of rank 0
 * Memory    8 bytes a word of each topic
 * Waiting   for rows of other nodes
 * Life      likeliest_find; reading; likeliest_fini
 */
#ifndef LDA_LIKELIEST_H
#define LDA_LIKELIEST_H

#include "top.h"
#include "word_rows.h"

struct likeliest {
    size_t topics, top;
    struct top *list; /* of each topic `top`, the likeliest first, by their counts; 0: no more */
    float *totals;    /* of the topics */
};

void likeliest_find(struct likeliest *, const struct lda *, size_t top, struct word_rows *);
void likeliest_fini(struct likeliest *);
/* What the word is called, or its number: then in `capacity`. */
const char *likeliest_name(const struct lda *, uint32_t word, char *text, size_t bytes);
/* Tells them to people, or as JSON. */
void likeliest_say(const struct lda *, const struct likeliest *);

#endif
