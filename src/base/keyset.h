/*
 * keyset.h - a hash set of keys that only grows, for example of the keys in a sample without
 * replacement.
 *
 * Memory    16 to 32 bytes a key of the largest set, kept for the next one
 * Waiting   never
 * Life      zeroed, keyset_begin, keyset_add, again keyset_begin ..., keyset_fini
 */
#ifndef LOCUS_BASE_KEYSET_H
#define LOCUS_BASE_KEYSET_H

#include "locus.h"

#include <stdbool.h>
#include <stddef.h>

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
