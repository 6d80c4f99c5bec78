/*
 * samples.h - what the tests of sampling by the public interface share: one node with rows that say
 * whose they are, distributions over a part of its keys, and samples of them.
 */
#ifndef TEST_SAMPLING_SAMPLES_H
#define TEST_SAMPLING_SAMPLES_H

#include "one_node.h"

/* Distributions are over [FIRST, FIRST + KEYS) of a table of ROWS. */
enum {
    FIRST = 20,
    KEYS = 100,
    ROWS = 200,
    LENGTH = 3,
    POOL = 250,
    USES = 16,
    PER_POOL = POOL * USES
};

struct scene {
    locus *node;
    locus_worker *worker;
};

/* All levels of conformity. */
static const enum locus_conformity levels[] = {LOCUS_CONFORM, LOCUS_BOUNDED, LOCUS_LONG_TERM,
                                               LOCUS_NON_CONFORM};

/* Rows that say which key they belong to. */
void set_rows(locus_worker *);
struct scene scene(void);
void scene_end(struct scene *);

/* Zipf, the heaviest key in the middle; every tenth key never. */
double weight_of(int i);
const double *zipf(void);

locus_distribution *uniform(locus *, enum locus_conformity, unsigned flags);
locus_distribution *weighted(locus *, enum locus_conformity, unsigned flags);

/* For the worker's clock now. */
locus_sample prepared(locus_worker *, locus_distribution *, size_t n);
/* The next n keys of the sample; the rows must be theirs. */
void pull(locus_worker *, locus_sample, size_t n, locus_key *keys);
void check_rows(const locus_key *keys, size_t n, const float *values);
/* `count` keys in samples of n, a clock each. */
void sample_keys(locus_worker *, locus_distribution *, size_t n, locus_key *keys, size_t count);

/* Freed by the caller. */
locus_key *keys_of(size_t n);

#endif
