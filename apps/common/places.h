/*
 * places.h - finds keys that come again in a list of keys.
 *
 *     places_init(&p, most);
 *     for each list of at most `most` keys
 *         places_clear(&p);
 *         for each key
 *             place = places_find(&p, list, count, key);
 *             if (place == count) list[count++] = key;
 *     places_fini(&p);
 *
 * Open addressing, at most half full.
 *
 * Callers   one thread for each struct
 * Memory    8 to 16 bytes a key; the list is the caller's
 * Waiting   never
 */
#ifndef APPS_PLACES_H
#define APPS_PLACES_H

#include "locus.h"
#include "rng.h"

#include <stddef.h>

struct places {
    uint32_t *slots; /* place + 1; 0: free */
    size_t slot_count;
};

void places_init(struct places *, size_t keys_max);
void places_fini(struct places *);
void places_clear(struct places *);

/* The place of the key in the list, which all earlier calls have made; `end` when it is new: the
 * caller puts it there. */
static inline uint32_t places_find(struct places *p, const locus_key *list, uint32_t end,
                                   locus_key key)
{
    size_t slot = (size_t)rng_mix(key) & (p->slot_count - 1);
    for (; p->slots[slot]; slot = (slot + 1) & (p->slot_count - 1)) {
        uint32_t place = p->slots[slot] - 1;
        if (list[place] == key) return place;
    }
    p->slots[slot] = end + 1;
    return end;
}

#endif
