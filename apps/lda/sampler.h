/*
 * sampler.h - draws the topics of a word's tokens, one after the other, each given all others.
 *
 * A token of word w in document d has topic k with a probability in proportion to
 *
 *     (n_dk + alpha) * q_k,   q_k = (n_wk + beta) / (n_k + words * beta)
 *
 * where it does not count itself. That is split into alpha * q_k, drawn from a tree of sums of q,
 * of which a token changes two leaves, and n_dk * q_k, which is above 0 for the topics of the
 * document only (Yu et al., 2015, word by word): steps of log K and of the document's topics.
 *
 * Callers   one worker's thread
 * Memory    40 bytes a topic
 * Waiting   never
 * Life      open; then totals and words in any number; close
 */
#ifndef LDA_SAMPLER_H
#define LDA_SAMPLER_H

#include "shelf.h"

struct sampler {
    struct shelf *shelf;
    size_t topics;
    double alpha, beta, words_beta;
    struct rng rng;
    unsigned stream; /* the worker's */
    double *totals;  /* as this worker knows them */
    double *inverse; /* 1 / (totals + words_beta) */
    double *tree;    /* sums of q: node i is over 2i and 2i + 1, leaves from `topics` on */
    double *sums;    /* of a draw */
};

void sampler_open(struct sampler *, struct shelf *, unsigned stream);
void sampler_close(struct sampler *);

/* A sweep begins, behind so many: what it draws follows from their number. */
void sampler_begin(struct sampler *, uint64_t sweeps);
/* Begins with these totals. */
void sampler_set_totals(struct sampler *, const float *totals);
/* Draws anew the topics of the word's tokens; the row and the totals follow. */
void sampler_draw_word(struct sampler *, uint32_t word, float *row);
/* The logarithms of the probabilities of the word's tokens that are held back: of topics of the
 * document, (n_dk + alpha) / (n_d + K alpha), times q. */
double sampler_held_word(struct sampler *, uint32_t word, const float *row);

#endif
