/*
 * keyspace.h - all keys, and what follows from a key alone: its table, length, shard, index and home.
 *
 * The tables lie end to end. Key k belongs to shard k mod S on every node and has index k / S
 * there, so the keys of a table in one shard have consecutive indices.
 *
 * Memory    the tables' descriptions, copied at init
 * Waiting   never
 * Life      keyspace_init, home_init, any number of questions, keyspace_fini
 */
#ifndef LOCUS_STORE_KEYSPACE_H
#define LOCUS_STORE_KEYSPACE_H

#include "store/directory.h"
#include "locus.h"

__extension__ typedef unsigned __int128 uint128;

struct keyspace_table {
    char *name;
    uint64_t first; /* its keys: first ... end-1 */
    uint64_t end;
    uint32_t length; /* values in a row */
    uint32_t flags;  /* of struct locus_table */
    enum locus_optimizer optimizer;
    struct locus_rule rule; /* complete: row_type_rule() */
    enum locus_element element;
    /* floats of a row with its state, as calls have it; of a delta, which is no less */
    uint32_t stored, delta;
};

/* Keys of a range in one shard: as many as have a slot (directory.h). */
#define KEYSPACE_RANGE_KEYS_MAX (DIRECTORY_SLOTS_MAX / 8)

struct keyspace {
    uint64_t keys;
    unsigned shards;
    uint64_t reciprocal; /* of shards: ceil(2^64 / shards); 0 for one shard */
    unsigned tables, ranges;
    struct keyspace_table *table;
    /* Consecutive tables whose rows are sums of floats, of the same length, are one range, with the
     * name of the first: where a row lies does not depend on the borders between them. */
    struct keyspace_table *range;
};

/* 0, or -EINVAL with the sentence in locus_error(). */
int keyspace_check(const struct locus_table *tables, size_t count);
/* The same, or -ENOMEM; here there is a shard at least. */
int keyspace_init(struct keyspace *, const struct locus_table *tables, size_t count,
                  unsigned shards);
void keyspace_fini(struct keyspace *);

/* Floats in the longest deltas; no row has more. */
uint32_t keyspace_longest(const struct keyspace *);

/* Which of `count` tables, end to end, holds `key`, which must be below keys. */
static inline unsigned keyspace_find(const struct keyspace_table *table, unsigned count,
                                     locus_key key)
{
    unsigned low = 0, high = count - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (key < table[middle].end)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static inline unsigned keyspace_table_of(const struct keyspace *k, locus_key key)
{
    return keyspace_find(k->table, k->tables, key);
}

static inline unsigned keyspace_range_of(const struct keyspace *k, locus_key key)
{
    return keyspace_find(k->range, k->ranges, key);
}

/* key / shards by a multiplication: exact, because keys are below 2^40 and shards at most 2^8, so
 * that the reciprocal's error (< shards) times the key stays below 2^64. */
static inline uint64_t keyspace_index(const struct keyspace *k, locus_key key)
{
    if (k->reciprocal == 0) return key;
    return (uint64_t)(((uint128)key * k->reciprocal) >> 64);
}

static inline unsigned keyspace_shard(const struct keyspace *k, locus_key key)
{
    return (unsigned)(key - keyspace_index(k, key) * k->shards);
}

static inline locus_key keyspace_key(const struct keyspace *k, unsigned shard, uint64_t index)
{
    return index * k->shards + shard;
}

/* How many of the keys below `key` belong to `shard`: the first index of a table that begins at
 * `key`. */
static inline uint64_t keyspace_count_below(const struct keyspace *k, locus_key key, unsigned shard)
{
    return key <= shard ? 0 : (key - shard - 1) / k->shards + 1;
}

/* Of `keys` consecutive keys, how many are in the shard that has most of them. */
static inline uint64_t keyspace_most_of(const struct keyspace *k, uint64_t keys)
{
    return (keys + k->shards - 1) / k->shards;
}

/* Shards of a node that tables need, so that there is a slot for each of their keys; no more than
 * there may be. */
unsigned keyspace_shards_needed(const struct locus_table *, size_t count);

/*
 * The home of a key: the node that owns it at the start and always knows its owner.
 *
 * The keys of one partition (store.h) are dealt to HOME_BUCKETS buckets in turn, and the buckets to
 * the nodes in turn. So neighbours, which are often hot together, have different homes. The home
 * keys of a node have dense numbers, which are their slots. All other keys have dense numbers, too,
 * for their replicas, which take two slots each. The nodes agree on the table of buckets when they
 * join. Each partition begins at another bucket, so that small ones do not all
 * begin at node 0.
 */
enum { HOME_BUCKETS = 4096, HOME_ELSEWHERE_BIT = 15, HOME_ELSEWHERE = 1 << HOME_ELSEWHERE_BIT };

struct home {
    uint32_t membership; /* the number of this agreement: a frame of another one is refused */
    unsigned nodes;
    unsigned rank;     /* ours */
    uint64_t slots[2]; /* of a key in each bucket: those that are ours, and those that are not */
    uint16_t node[HOME_BUCKETS];
    uint64_t held[HOME_BUCKETS / 64]; /* a bit a bucket: are its rows here at the start? */
    /* a bucket's first slot among ours; or HOME_ELSEWHERE and its first slot among the others */
    uint16_t place[HOME_BUCKETS];
};

void home_init(struct home *, unsigned nodes, unsigned rank);

/* The bucket at which a partition begins. 0 in a cluster of one, where every key is at home
 * and its slot is its number. */
static inline unsigned home_first_bucket(const struct home *h, unsigned partition)
{
    return h->nodes == 1 ? 0 : partition * 2654435761u % HOME_BUCKETS;
}

/* The node was lost that was the bucket's. Where rows lie does not change with it. Who sees it sees
 * the rows that have come before. */
static inline void home_pass(struct home *h, unsigned bucket, unsigned node)
{
    __atomic_store_n(&h->node[bucket], (uint16_t)node, __ATOMIC_RELEASE);
}

/* The slot among those whose home is here of a key with the number `at`, counted from its
 * partition's first bucket; or, if *elsewhere becomes 1 instead of 0, the first of its two slots
 * among those whose home is not here. */
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
