/*
 * gibbs.h - sweeps over a worker's tokens.
 *
 * Blocks of words rotate (STRADS, Section 3.1): a sweep has a round for each block of words; in each a worker
 * has a block that nobody else has, as the schedule says, and which it intended in the round
 * before. Its copy of the totals is what others change meanwhile: after each round all quiesce, and
 * the copy is compared with the truth and renewed.
 *
 * With a staleness of s there are s + 1 blocks a worker, so that who has a block next has it s + 1
 * rounds later; and workers are at most s + 1 rounds apart (locus_bound): a block is still at one
 * worker at a time, with all that was counted before. All quiesce once a sweep.
 *
 * Callers   every worker of every node, collectively
 * Memory    a few rows
 * Waiting   for all workers after each round
 */
#ifndef LDA_GIBBS_H
#define LDA_GIBBS_H

#include "locus_schedule.h"
#include "quality.h"

struct gibbs {
    const struct lda *lda;
    struct pool_member *member;
    struct shelf *shelf;
    struct sampler *sampler;
    struct word_rows *rows;
    locus_schedule *schedule;
    struct locus_part *parts;
    uint32_t block;    /* of the next round */
    locus_clock clock; /* of the next round */
    float *totals;
};

/* Counts the first topics, too, unless they have been. */
void gibbs_open(struct gibbs *, const struct lda *, struct pool_member *, struct shelf *,
                struct sampler *, struct word_rows *, bool are_counted);
void gibbs_close(struct gibbs *);
/* Blocks that the words are divided into. */
uint32_t gibbs_blocks(const struct lda *, const struct pool_member *);

/* Returns the sum over rounds of the L1 distances between this worker's totals and the true ones,
 * a token of the corpus and round: the s-error is its mean over workers. */
double gibbs_sweep(struct gibbs *);

#endif
