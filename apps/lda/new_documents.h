/*
 * new_documents.h - how well topics foretell documents that were not trained with (--test).
 *
 * Half of each document's tokens, drawn one by one, are given. From them its shares of the topics
 * are found by expectation and maximization, phi as it was learnt:
 *
 *     theta_k  =  (sum over tokens of theta_k phi_kw / sum over topics of the same, + alpha)
 *                 / (tokens + K alpha),          phi_kw = (n_wk + beta) / (n_k + V beta)
 *
 * from equal shares on, again and again. The perplexity is exp(-mean log p) over the other half, p
 * = sum over topics of theta_k phi_kw.
 *
 * Callers   every worker of every node, after its copy of the totals was renewed
 * Memory    a row of doubles a word of the longest document
 * Waiting   for rows of other nodes
 */
#ifndef LDA_NEW_DOCUMENTS_H
#define LDA_NEW_DOCUMENTS_H

#include "sampler.h"
#include "word_rows.h"

enum { NEW_DOCUMENTS_STEPS = 100 };

/* Is this token of the test documents given? Depends on its place alone. */
bool new_documents_gives(uint64_t token, uint64_t seed);

/* Of this worker's share of the documents, the sum of logarithms over the tokens that are foretold,
 * and how many they are. */
void new_documents_foretell(const struct lda *, const struct sampler *, struct word_rows *,
                            double *logarithms, double *tokens);

/* One document: `phi` has `topics` numbers for each of its tokens, of which the first `given` ones
 * are given. Returns the sum of logarithms over the others; `theta` is what was found, `next` is
 * room for as many. */
double new_documents_one(const double *const *phi, size_t given, size_t tokens, size_t topics,
                         double alpha, double *theta, double *next);

#endif
