/*
 * sets.h - sets of numbers: a tree of bits below a bound, and a hash set that only grows.
 *
 * Callers   one thread at a time
 * Memory    bitset: one bit for each possible member and 1/63 more, reserved at init, used only where
 *           there were members; keyset: 16 to 32 bytes a key of the largest set, kept for the next one
 * Waiting   never
 * Life      bitset_init, any use, bitset_fini; keyset zeroed, keyset_begin, keyset_add, keyset_fini
 */
#ifndef LOCUS_BASE_SETS_H
#define LOCUS_BASE_SETS_H

#include "locus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A set of numbers below a bound that finds its lowest member in a few steps, such as the slots
 * that a slab may reuse.
 *
 * A tree of bits, 64 children to a word: a bit of an upper level says that its child word is not
 * zero.
 */

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

/* A hash set of keys that only grows, for example of the keys in a sample without replacement. */

struct keyset {
    uint64_t *place; /* key + 1; 0: free */
    size_t mask;     /* places in use for this set, less one */
    size_t capacity;
};

/* Empties the set and reserves memory for n keys. 0 or -ENOMEM. */
int keyset_begin(struct keyset *, size_t n);
void keyset_fini(struct keyset *);

static inline size_t keyset_place(const struct keyset *s, locus_key key)
{
    return key * UINT64_C(0x9E3779B97F4A7C15) >> 20 & s->mask;
}

/* False if the key was there already. */
static inline bool keyset_add(struct keyset *s, locus_key key)
{
    size_t i = keyset_place(s, key);
    while (s->place[i] != 0) {
        if (s->place[i] == key + 1) return false;
        i = (i + 1) & s->mask;
    }
    s->place[i] = key + 1;
    return true;
}

static inline bool keyset_has(const struct keyset *s, locus_key key)
{
    size_t i = keyset_place(s, key);
    while (s->place[i] != 0 && s->place[i] != key + 1) i = (i + 1) & s->mask;
    return s->place[i] != 0;
}

#endif
