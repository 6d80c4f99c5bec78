/*
 * priors.h - alpha and beta learned from the counts (--learn-priors): the parameter of a symmetric
 * Dirichlet distribution that makes the counts drawn from it likeliest, by Minka's fixed point
 * (Estimating a Dirichlet distribution, 2000), a step at a time.
 *
 * Callers   priors_learn(): every worker of every node, a collective, when all have quiesced
 * Memory    a row
 * Waiting   for rows of other nodes, and for all workers
 */
#ifndef LDA_PRIORS_H
#define LDA_PRIORS_H

#include "sampler.h"
#include "word_rows.h"

/* Draws of `size` counts each. */
struct prior {
    double parameter, size;
    double up, down;
};
void prior_add_count(struct prior *, double count); /* those that are 0 may be left out */
void prior_add_total(struct prior *, double total); /* of a draw */
double prior_next(const struct prior *);

/* Alpha from how often documents have topics, beta from how often topics have words: the sampler
 * has them then, and its totals must be set again. The same on all workers. */
void priors_learn(const struct lda *, struct sampler *, struct word_rows *);

#endif
