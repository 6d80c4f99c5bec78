/*
 * quality.h - how good the topics are, whether the counts are right, and the priors that suit them.
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
    double likelihood;     /* a token */
    double perplexity;     /* 0: nothing is held back */
    double new_perplexity; /* of documents that were not trained with; 0: there are none */
    double seconds;
};

struct quality quality_of(const struct lda *, struct sampler *, struct word_rows *);

/* Of each topic, what the words' rows have together, the totals and the tokens must be equal: gives
 * up with the topic and the three counts where they are not. */
void quality_check(const struct lda *, const struct shelf *, struct word_rows *);

/* Alpha and beta learned from the counts (--learn-priors): the parameter of a symmetric Dirichlet
 * distribution that makes the counts drawn from it likeliest, by Minka's fixed point (Estimating a
 * Dirichlet distribution, 2000), a step at a time. */

/* Draws of `size` counts each. */
struct prior {
    double parameter, size;
    double up, down;
};
void prior_add_count(struct prior *, double count); /* those that are 0 may be left out */
void prior_add_total(struct prior *, double total); /* of a draw */
double prior_next(const struct prior *);

/* Alpha from how often documents have topics, beta from how often topics have words: the sampler
 * has them then, and its totals must be set again. The same on all workers, which have quiesced. */
void priors_learn(const struct lda *, struct sampler *, struct word_rows *);

#endif
