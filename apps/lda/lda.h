/*
 * lda.h - what the parts of lda share: the options, the documents, and the keys.
 *
 * Latent Dirichlet allocation by collapsed Gibbs sampling (Griffiths and Steyvers, 2004; STRADS,
 * Section 3.1). A word's row counts by topic how often it has that topic; one more row has the
 * totals. Counts are floats, exact below 2^24: what comes to that is refused.
 *
 * Callers   main() fills it in; workers read
 * Memory    the parts'
 * Waiting   never
 */
#ifndef LDA_LDA_H
#define LDA_LDA_H

#include "corpus.h"
#include "pool.h"
#include "settings.h"

enum lda_table {
    LDA_WORDS,
    LDA_TOTALS,
    /* with checkpoints only: word_rows.h */
    LDA_TOKENS,
    LDA_ORDERS,
    LDA_BEST_TOKENS,
    LDA_BEST_ORDERS,
    LDA_TABLES
};
/* Rows of the second table: the totals; and two that are used to check the counts. */
enum lda_total { LDA_TOPICS, LDA_CHECK_WORDS, LDA_CHECK_TOKENS, LDA_TOTAL_ROWS };

#define LDA_STALENESS_MAX 64
#define LDA_COUNT_MAX 16777215 /* a float has no larger whole numbers one by one */

struct lda_options {
    struct settings common;
    const char *vocabulary, *generate;
    uint64_t topics, top, staleness;
    double alpha, beta, held_back;
};

struct lda {
    struct lda_options options;
    struct corpus corpus;
};

static inline locus_key lda_total_key(const struct lda *l, enum lda_total row)
{
    return (locus_key)l->corpus.words + row;
}

#endif
