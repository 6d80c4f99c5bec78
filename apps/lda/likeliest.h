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
/* Tells them to people, or as JSON. `npmi`: of each topic. */
void likeliest_say(const struct lda *, const struct likeliest *, const double *npmi);

/* ---- how well they go together ---- */

/* Of each topic the mean over pairs of its words of normalized pointwise mutual information (Bouma,
 * 2009), by the documents that have both, log(p(a, b) / p(a) / p(b)) / -log p(a, b); -1 where none
 * has; NAN: it has no two words. */
void coherence_npmi(const struct corpus *, const struct likeliest *, double *of_topic);

#endif
