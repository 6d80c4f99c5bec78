/*
 * sample_target.h - the target distribution (NuPS, Section 4.1: pi), and independent draws from it.
 *
 * Memory    16 bytes a key if weighted, none if uniform; a draw takes none, except as
 *           target_draw_unique() says
 * Waiting   never
 * Life      target_init_uniform or target_init_weighted, draws from any thread (each with its own
 *           random numbers), target_fini
 */
#ifndef LOCUS_WORKER_SAMPLE_TARGET_H
#define LOCUS_WORKER_SAMPLE_TARGET_H

#include "base/sets.h"
#include "worker/alias.h"

struct target {
    locus_key first;
    uint64_t count;    /* keys */
    uint64_t possible; /* of them, with a probability above 0 */
    struct alias alias;
};

void target_init_uniform(struct target *, locus_key first, uint64_t count);
/* 0 or -ENOMEM; the weights are as for alias_init(). */
int target_init_weighted(struct target *, locus_key first, const double *weights, uint64_t count);
void target_fini(struct target *);

static inline locus_key target_draw(const struct target *t, struct random *r)
{
    uint64_t rest;
    return t->first + (t->alias.cell ? alias_index(&t->alias, alias_choose(&t->alias, r))
                                     : random_below(r, t->count, &rest));
}

/* n draws, their cells fetched together. */
void target_draw_many(const struct target *, struct random *, locus_key *keys, size_t n);

static inline bool target_is_possible(const struct target *t, locus_key key)
{
    return !t->alias.cell || alias_is_possible(&t->alias, key - t->first);
}

/*
 * Draws n keys that are not in `drawn`, each as if those drawn before did not exist, and adds them
 * to it. At least n must be left. Repeated keys are drawn again, a bounded number of times; then
 * one pass over all keys finds the rest. During the pass it needs 16 bytes for each of the n keys,
 * and 8 for each key of a weighted target. 0 or -ENOMEM.
 */
int target_draw_unique(const struct target *, struct random *, struct keyset *drawn,
                       locus_key *keys, size_t n);

#endif
