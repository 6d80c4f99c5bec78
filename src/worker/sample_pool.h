/*
 * sample_pool.h - sample reuse: G independently drawn keys are given out U times, each time in another
 * random order (NuPS, Section 4.4, "Sample reuse").
 *
 * A sample that must have no key twice skips keys that it already has. So the next key is always
 * one of all the pool's keys, and a key of great weight is first in as many samples as its weight
 * says.
 *
 * Memory    8 bytes a key, kept from one filling to the next
 * Waiting   never
 * Life      zeroed, pool_fill, pool_take until it is used up, again pool_fill ..., pool_fini
 */
#ifndef LOCUS_WORKER_SAMPLE_POOL_H
#define LOCUS_WORKER_SAMPLE_POOL_H

#include "worker/sample_target.h"

enum { POOL_KEYS = 250, POOL_USES = 16 }; /* G and U, as in NuPS, Section 5.1 */

struct pool {
    locus_key *key; /* [size]; of the current traversal, [next ...] are still to come */
    size_t size, capacity, next;
    unsigned uses; /* traversals left, including the current one; 0: used up */
};

/* Draws `size` keys. 0 or -ENOMEM: the pool is as before. */
int pool_fill(struct pool *, const struct target *, struct random *, size_t size);
void pool_fini(struct pool *);

/* Takes at most n keys, fewer if the pool is used up; returns how many. With `drawn`: only keys
 * that are not in it; fewer also if a whole traversal has no other. */
size_t pool_take(struct pool *, struct random *, struct keyset *drawn, locus_key *keys, size_t n);

/* Keys that it will still give out. */
static inline uint64_t pool_left(const struct pool *p)
{
    return p->uses == 0 ? 0 : (uint64_t)p->uses * p->size - p->next;
}

#endif
