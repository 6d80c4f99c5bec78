/*
 * sets.h - sets of numbers: a tree of bits below a bound, a hash set that only grows, a heap of what
 * is due at a clock.
 *
 * Callers   one thread at a time
 * Memory    bitset: one bit for each possible member and 1/63 more, reserved at init, used only where
 *           there were members; keyset: 16 to 32 bytes a key of the largest set, kept for the next
 *           one; clock_heap: 16 bytes each
 * Waiting   never
 * Life      bitset_init, any use, bitset_fini; the others are zeros at first, and have a fini
 */
#ifndef LOCUS_BASE_SETS_H
#define LOCUS_BASE_SETS_H

#include "locus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds its lowest member at once, such as a slot that a slab may reuse: 64 children to a word; a
 * bit of an upper level says that its child word is not zero. */

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

/* For example the keys in a sample without replacement. */

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

/* The earliest is on top. */

struct clock_due {
    locus_clock at;
    void *what;
};

struct clock_heap {
    struct clock_due *due; /* due[0] is the earliest */
    size_t count, capacity;
};

/* false: no memory, and nothing was done. */
bool clock_heap_add(struct clock_heap *, locus_clock at, void *what);
/* Removes the earliest; the heap is not empty. */
void clock_heap_drop(struct clock_heap *);
void clock_heap_fini(struct clock_heap *);

/* INT64_MAX: nothing is due. */
static inline locus_clock clock_heap_first(const struct clock_heap *h)
{
    return h->count ? h->due[0].at : INT64_MAX;
}

#endif
