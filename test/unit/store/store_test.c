#include "store/store.h"

#include "common/stores.h"
#include "store/row.h"
#include "test.h"

#include <errno.h>

static const struct locus_table mixed[] = {
    {.rows = 10, .length = 3},
    {.rows = 1, .length = 1000},
    {.rows = 25, .length = 16},
};
enum { MIXED_KEYS = 36 };

static void open_mixed(struct store *s, unsigned shards, unsigned nodes, unsigned rank)
{
    CHECK_EQ(store_init(s, mixed, 3, shards, nodes, rank), 0);
}

TEST(store, open_refuses_more_keys_than_a_shard_can_have)
{
    static const struct {
        struct locus_table table;
        unsigned shards;
        const char *sentence;
    } wrong[] = {
        {{.rows = 2 * KEYSPACE_RANGE_KEYS_MAX + 1, .length = 1}, 2, "let rank 0 choose"},
        {{.rows = LOCUS_KEYS_MAX, .length = 1}, LOCUS_SHARDS_MAX, "use fewer rows"},
        {{.name = "wide", .rows = (UINT64_C(1) << 30) + 1, .length = 1},
         1,
         "\"wide\" has 1073741825 keys in a shard"},
        {{.rows = 1, .length = 1}, LOCUS_SHARDS_MAX + 1, "shards is 257"},
    };
    CLOSED_BY(store_fini) struct store s;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        REFUSED(store_init(&s, &wrong[i].table, 1, wrong[i].shards, 1, 0), -EINVAL,
                wrong[i].sentence);
    CHECK_EQ(keyspace_shards_needed(&wrong[0].table, 1), 3);
    CHECK_EQ(store_init(&s, &wrong[0].table, 1, 3, 1, 0), 0);
}

/* Blocks of keys with borders within, of a small table, and of one key alone. */
TEST(store, row_ref_is_in_the_partition_of_range_and_shard)
{
    const struct locus_table tables[] = {{.rows = 1000, .length = 3},
                                         {.rows = 1, .length = 3, .optimizer = LOCUS_SGD},
                                         {.rows = 70, .length = 3},
                                         {.rows = 70, .length = 3},
                                         {.rows = 2000, .length = 4}};
    for (unsigned shards = 1; shards <= 3; shards++) {
        struct store s;
        CHECK_EQ(store_init(&s, tables, 5, shards, 1, 0), 0);
        const struct keyspace *k = &s.keyspace;
        for (locus_key key = 0; key < k->keys; key++) {
            struct row_ref ref = store_row_ref(&s, key);
            size_t part = keyspace_shard(k, key) * k->ranges + keyspace_range_of(k, key);
            CHECK(ref.partition == &s.partition[part]);
            CHECK_EQ(ref.index, keyspace_index(k, key));
        }
        store_fini(&s);
    }
}

struct ranges {
    struct {
        const char *from;
        size_t bytes;
    } range[16];
    unsigned count;
};

static void add_range(void *ranges, void *from, size_t bytes)
{
    struct ranges *r = ranges;
    CHECK((from != NULL || bytes == 0) && r->count < 16);
    r->range[r->count].from = from;
    r->range[r->count++].bytes = bytes;
}

static bool is_within(const struct ranges *r, const void *at, size_t bytes)
{
    const char *p = at;
    for (unsigned i = 0; i < r->count; i++)
        if (p >= r->range[i].from && p + bytes <= r->range[i].from + r->range[i].bytes) return true;
    return false;
}

/* Bound to a place each shard's memory would all be there, and nothing of another shard's. */
TEST(store, ranges_of_a_shard_hold_its_words_and_rows_only)
{
    const struct store_config c = {
        .tables = mixed, .table_count = 3, .shards = 3, .nodes = 1, .rank = 0, .replicates = true};
    struct ranges r[3] = {0};
    CLOSED_BY(store_fini) struct store s;
    float row[1000] = {0};
    CHECK_EQ(store_open(&s, &c), 0);
    for (unsigned shard = 0; shard < 3; shard++) store_ranges(&s, shard, add_range, &r[shard]);
    for (locus_key k = 0; k < MIXED_KEYS; k++) {
        struct row_ref ref = store_row_ref(&s, k);
        CHECK(row_write(ref, row, ROW_ADD) >= 0);
        for (unsigned shard = 0; shard < 3; shard++) {
            bool ours = keyspace_shard(&s.keyspace, k) == shard;
            CHECK_EQ(is_within(&r[shard], row_ref_word(ref), sizeof *row_ref_word(ref)), ours);
            CHECK_EQ(is_within(&r[shard],
                               partition_row(ref.partition,
                                             directory_slot(directory_load(row_ref_word(ref)))),
                               ref.partition->row_bytes),
                     ours);
        }
    }
}

/* Replicas of keys whose home is here have no place of their own; whoever finds none waits for
 * those that left. */
TEST(store, replica_slots_are_two_for_each_key)
{
    const struct {
        uint64_t rows;
        uint32_t length;
    } shape[] = {{200, 1 << 18}, {1000, 1 << 16}, {1700, 1 << 16}, {3000, 1 << 16}, {20000, 16}};
    for (unsigned i = 0; i < sizeof shape / sizeof *shape; i++) {
        const struct locus_table table[] = {{.rows = 1, .length = 1},
                                            {.rows = shape[i].rows, .length = shape[i].length}};
        for (unsigned nodes = 2; nodes <= 256; nodes *= 4) {
            const struct store_config c = {.tables = table,
                                           .table_count = 2,
                                           .shards = 1,
                                           .nodes = nodes,
                                           .rank = 1,
                                           .replicates = true};
            struct store s;
            CHECK_EQ(store_open(&s, &c), 0);
            struct slab *pairs = &s.partition[1].pairs;
            CHECK_EQ(s.partition[1].computes_replicas, pairs->home_slots > 0);
            CHECK(!s.partition[0].computes_replicas);
            for (uint64_t k = 0; k < 2 * shape[i].rows; k++)
                CHECK(slab_take(pairs, SLAB_NONE) >= pairs->home_slots);
            CHECK(slab_held(pairs) == 2 * shape[i].rows);
            store_fini(&s);
        }
    }
}

TEST(store, owned_leaves_out_keys_elsewhere)
{
    CLOSED_BY(store_fini) struct store s;
    CLOSED_BY(mover_fini) struct mover m;
    float row[1000];
    bool written;
    locus_key keys[MIXED_KEYS];
    open_mixed(&s, 2, 1, 0);
    mover_init(&m, &s);
    for (locus_key k = 1; k < MIXED_KEYS; k += 2)
        CHECK_EQ(row_take(&m, store_row_ref(&s, k), row, &written, directory_elsewhere(1, 1)), 0);
    CHECK_EQ(store_owned(&s, 0, keys, MIXED_KEYS), MIXED_KEYS / 2);
    for (size_t i = 0; i < MIXED_KEYS / 2; i++) CHECK_EQ(keys[i], 2 * i);
    CHECK_EQ(store_owned(&s, 5, keys, 3), 3);
    CHECK_EQ(keys[0], 6);
    CHECK_EQ(row_put(store_row_ref(&s, 35), NULL), 0);
    CHECK_EQ(store_owned(&s, 35, keys, 3), 1);
}
