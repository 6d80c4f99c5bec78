/*
 * keyset.h - the keys that a sample without replacement has already: a hash set that only grows.
 *
 * Callers   target.c, pool.c, local.c, for one sample at a time
 * Memory    16 to 32 bytes a key of the largest sample, kept for the next one
 * Waiting   never
 * Life      zeroed, keyset_begin, keyset_add, again keyset_begin ..., keyset_fini
 */
#ifndef LOCUS_SAMPLING_KEYSET_H
#define LOCUS_SAMPLING_KEYSET_H

#include "locus.h"
#include "sampling/random.h"

struct keyset {
    uint64_t *place; /* key + 1; 0: free */
    size_t mask;     /* places in use for this sample, less one */
    size_t room;
};

/* Empties it and makes room for n keys. 0 or -ENOMEM. */
int keyset_begin(struct keyset *, size_t n);
void keyset_fini(struct keyset *);

/* False if it was there already. */
static inline bool keyset_add(struct keyset *s, locus_key key)
{
    size_t i = random_mix(key) & s->mask;
    while (s->place[i] != 0) {
        if (s->place[i] == key + 1) return false;
        i = (i + 1) & s->mask;
    }
    s->place[i] = key + 1;
    return true;
}

static inline bool keyset_has(const struct keyset *s, locus_key key)
{
    size_t i = random_mix(key) & s->mask;
    while (s->place[i] != 0 && s->place[i] != key + 1) i = (i + 1) & s->mask;
    return s->place[i] != 0;
}

#endif
