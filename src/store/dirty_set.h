/*
 * dirty_set.h - the keys of a shard that have changed, so that other nodes must be told: any thread
 * adds, the shard takes.
 *
 * A tree of bits (bitset.h). Adding goes up only while a word was empty. Taking goes down from the
 * root and empties each word with one exchange. So a key that is added while others are taken is
 * either seen now or found by way of the root the next time. The cost of both depends on the keys
 * in the set, however many keys there are in all.
 *
 * Callers   any thread adds, under the key's latch; the shard's thread adds and takes
 * Memory    as bitset.h
 * Waiting   never
 * Life      dirty_set_init, any use, dirty_set_fini
 */
#ifndef LOCUS_STORE_DIRTY_SET_H
#define LOCUS_STORE_DIRTY_SET_H

#include "base/sets.h"

struct dirty_set {
    struct bitset keys; /* changed by atomic operations alone */
    /* Called by the thread that adds a key to an empty set. May be NULL. Must not wait. */
    void (*notify)(void *context);
    void *context;
};

/* For indices 0 ... bound-1; false: no address space. */
bool dirty_set_init(struct dirty_set *, uint64_t bound);
void dirty_set_fini(struct dirty_set *);
void dirty_set_add(struct dirty_set *, uint64_t index);
bool dirty_set_is_empty(const struct dirty_set *);
/* Takes all keys out, in ascending order. */
void dirty_set_take(struct dirty_set *, void (*each)(void *context, uint64_t index), void *context);

#endif
