/*
 * bitset.h - a set of numbers below a bound that finds its lowest member in a few steps, such as
 * the slots that a slab may reuse.
 *
 * A tree of bits, 64 children to a word: a bit of an upper level says that its child word is not
 * zero.
 *
 * Callers   one thread at a time: under the user's latch, or the shard's thread
 * Memory    one bit for each possible member and 1/63 more, reserved at init, used only where there
 *           were members
 * Waiting   never
 * Life      bitset_init, any use, bitset_fini
 */
#ifndef LOCUS_BASE_BITSET_H
#define LOCUS_BASE_BITSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BITSET_LEVELS_MAX = 7 }; /* 64^7 members are more than 2^40 keys */
#define BITSET_NONE UINT64_MAX

struct bitset {
    unsigned levels;
    uint64_t *level[BITSET_LEVELS_MAX]; /* [0]: the members; the last is one word */
    void *memory;
    size_t bytes;
};

/* For members 0 ... bound-1; false: no address space. */
bool bitset_init(struct bitset *, uint64_t bound);
void bitset_fini(struct bitset *);
void bitset_add(struct bitset *, uint64_t member);
void bitset_remove(struct bitset *, uint64_t member);
bool bitset_has(const struct bitset *, uint64_t member);
uint64_t bitset_lowest(const struct bitset *); /* BITSET_NONE: empty */

#endif
