/*
 * home.h - which node is the home of a key: the node that owns it at the start and always knows its
 * owner.
 *
 * The keys of one partition (store.h) are dealt to HOME_BUCKETS buckets in turn, and the buckets to
 * the nodes in turn. So neighbours, which are often hot together, have different homes. The home
 * keys of a node have dense numbers, which are their slots. All other keys have dense numbers, too,
 * for their replicas, which take two slots each. The nodes agree on the table of buckets when they
 * join, under a view number. Each partition begins at another bucket, so that small ones do not all
 * begin at node 0.
 *
 * Memory    only the struct
 * Waiting   never
 * Life      as the store
 */
#ifndef LOCUS_STORE_HOME_H
#define LOCUS_STORE_HOME_H

#include <stdint.h>

enum { HOME_BUCKETS = 4096, HOME_ELSEWHERE_BIT = 15, HOME_ELSEWHERE = 1 << HOME_ELSEWHERE_BIT };

struct home {
    uint32_t view;
    unsigned nodes;
    unsigned rank;     /* ours */
    uint64_t slots[2]; /* of a round of the buckets: those that are ours, and those that are not */
    uint16_t node[HOME_BUCKETS];
    uint64_t held[HOME_BUCKETS / 64]; /* a bit a bucket: are its rows here at the start? */
    /* a bucket's first slot among ours; or HOME_ELSEWHERE and its first slot among the others */
    uint16_t place[HOME_BUCKETS];
};

void home_init(struct home *, unsigned nodes, unsigned rank);

/* The bucket at which partition `part` begins. 0 in a cluster of one, where every key is at home
 * and its slot is its number. */
static inline unsigned home_first_bucket(const struct home *h, unsigned partition)
{
    return h->nodes == 1 ? 0 : partition * 2654435761u % HOME_BUCKETS;
}

/* `at`: a key's number in its partition plus the partition's first bucket. */
static inline unsigned home_node(const struct home *h, uint64_t at)
{
    return h->node[at % HOME_BUCKETS];
}

/* The key's slot among those whose home is here; or, if *elsewhere becomes 1 instead of 0, the
 * first of its two slots among those whose home is not here. */
static inline uint64_t home_slot(const struct home *h, uint64_t at, uint64_t *elsewhere)
{
    uint64_t place = h->place[at % HOME_BUCKETS];
    /* Widened to 64 bits here: gcc would spill 16 bits and reload 64, which waits for all stores
     * before. */
    __asm__("" : "+r"(place));
    *elsewhere = place >> HOME_ELSEWHERE_BIT;
    return at / HOME_BUCKETS * h->slots[*elsewhere] + (place & (HOME_ELSEWHERE - 1));
}

/* An upper bound of those slots for keys below `end`. */
static inline uint64_t home_slots(const struct home *h, uint64_t end, unsigned elsewhere)
{
    if (h->nodes == 1) return elsewhere ? 0 : end;
    return end == 0 ? 0 : ((end - 1) / HOME_BUCKETS + 1) * h->slots[elsewhere];
}

#endif
