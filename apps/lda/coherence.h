/*
 * coherence.h - how well a topic's likeliest words go together in the documents: the mean over
 * pairs of normalized pointwise mutual information (Bouma, 2009), by the documents that have both,
 * log(p(a, b) / p(a) / p(b)) / -log p(a, b); -1 where none has.
 *
 * Callers   the first worker of rank 0
 * Memory    4 bytes a document that has a word, of each such word
 * Waiting   never
 */
#ifndef LDA_COHERENCE_H
#define LDA_COHERENCE_H

#include "likeliest.h"

/* Of each topic; NAN: it has no two words. */
void coherence_npmi(const struct corpus *, const struct likeliest *, double *of_topic);

#endif
