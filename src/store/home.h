/*
 * home.h - which node is the home of a key: the node that owns it at the start and always knows its owner.
 *
 * The keys of one part (store.h) are dealt to HOME_BUCKETS buckets in turn, the buckets to the nodes in turn; so
 * neighbours, which are often hot together, have different homes, and the home keys of a node have dense numbers, which
 * are their slots. The table of buckets is agreed at join under a view number; it will change when membership does. A
 * part begins at a bucket of its own, so that small ones do not all begin at node 0.
 *
 * Callers   any thread; nothing changes between init and fini
 * Memory    none but the struct
 * Waiting   never
 * Life      as the store
 */
#ifndef LOCUS_STORE_HOME_H
#define LOCUS_STORE_HOME_H

#include <stdint.h>

enum { HOME_BUCKETS = 4096 };

struct home {
    uint32_t view;
    unsigned nodes;
    unsigned rank; /* ours */
    unsigned own;  /* buckets of ours */
    uint16_t node[HOME_BUCKETS];
    uint16_t number[HOME_BUCKETS]; /* a bucket's number among those of its node */
};

void home_init(struct home *, unsigned nodes, unsigned rank);

/* The bucket at which part `part` begins. 0 in a cluster of one, where every key is at home and its slot its number. */
static inline unsigned home_first_bucket(const struct home *h, unsigned part)
{
    return h->nodes == 1 ? 0 : part * 2654435761u % HOME_BUCKETS;
}

/* `at`: a key's number in its part plus the part's first bucket. */
static inline unsigned home_node(const struct home *h, uint64_t at)
{
    return h->node[at % HOME_BUCKETS];
}

/* The slot of a key whose home is here; for any other key, a number without meaning. */
static inline uint64_t home_slot(const struct home *h, uint64_t at)
{
    return at / HOME_BUCKETS * h->own + h->number[at % HOME_BUCKETS];
}

/* Slots that the home keys below `end` need at most. */
static inline uint64_t home_slots(const struct home *h, uint64_t end)
{
    if (h->nodes == 1) return end;
    return end == 0 ? 0 : ((end - 1) / HOME_BUCKETS + 1) * h->own;
}

#endif
