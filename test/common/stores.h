/* stores.h - what tests ask of a store, and nobody else does. */
#ifndef LOCUS_TEST_STORES_H
#define LOCUS_TEST_STORES_H

#include "store/store.h"

/* A store without replicas. */
static inline int store_init(struct store *s, const struct locus_table *tables, size_t count,
                             unsigned shards, unsigned nodes, unsigned rank)
{
    const struct store_config c = {
        .tables = tables, .table_count = count, .shards = shards, .nodes = nodes, .rank = rank};
    return store_open(s, &c);
}

/* Bytes of row memory that are, or may be, backed by pages. */
static inline uint64_t slab_touched_bytes(const struct slab *s)
{
    uint64_t bytes = 0, all = s->slots * s->row_bytes;
    for (uint64_t c = 0; c * MEMORY_CHUNK_BYTES < all; c++) {
        uint64_t rest = all - c * MEMORY_CHUNK_BYTES;
        if (s->chunk_rows[c] || s->empty == c)
            bytes += rest < MEMORY_CHUNK_BYTES ? rest : MEMORY_CHUNK_BYTES;
    }
    return bytes;
}

static inline uint64_t store_touched_bytes(struct store *s)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < (size_t)s->keyspace.shards * s->keyspace.ranges; i++)
        bytes += slab_touched_bytes(&s->partition[i].slab) +
                 slab_touched_bytes(&s->partition[i].pairs);
    return bytes;
}

static inline uint64_t store_held_rows(const struct store *s)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < (size_t)s->keyspace.shards * s->keyspace.ranges; i++)
        rows += slab_held(&s->partition[i].slab) + slab_held(&s->partition[i].pairs);
    return rows;
}

#endif
