/*
 * quality.h - how good the topics are, and whether the counts are right.
 *
 * The likelihood is log p(w, z), topics and their words integrated out (Griffiths and Steyvers,
 * 2004). The perplexity is exp(-mean log p) over tokens that were held back from documents whose
 * others were trained with; p is the sum over topics of (n_dk + alpha) / (n_d + K alpha) times
 * (n_wk + beta) / (n_k + V beta), for the topics of this one moment.
 *
 * Callers   every worker of every node, collectively
 * Memory    a row
 * Waiting   for rows of other nodes, and for all workers
 */
#ifndef LDA_QUALITY_H
#define LDA_QUALITY_H

#include "sampler.h"
#include "word_rows.h"

struct quality {
    double likelihood; /* a token */
    double perplexity; /* 0: nothing is held back */
    double seconds;
};

struct quality quality_of(const struct lda *, struct sampler *, struct word_rows *);

/* Of each topic, what the words' rows have together, the totals and the tokens must be equal: gives
 * up with the topic and the three counts where they are not. */
void quality_check(const struct lda *, const struct shelf *, struct word_rows *);

#endif
