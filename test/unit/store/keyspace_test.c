#include "store/keyspace.h"

#include "test.h"

#include <errno.h>
#include <stdlib.h>

static struct keyspace space_of(uint64_t rows, unsigned shards)
{
    struct keyspace k;
    struct locus_table t = {.rows = rows, .length = 1};
    CHECK_EQ(keyspace_init(&k, &t, 1, shards), 0);
    return k;
}

static const uint64_t interesting[] = {
    0,
    1,
    2,
    255,
    256,
    257,
    65535,
    1000003,
    (UINT64_C(1) << 32) - 1,
    UINT64_C(1) << 32,
    (UINT64_C(1) << 39) + 12345,
    LOCUS_KEYS_MAX - 2,
    LOCUS_KEYS_MAX - 1,
};

TEST(keyspace, index_and_shard_are_quotient_and_remainder)
{
    for (unsigned shards = 1; shards <= LOCUS_SHARDS_MAX; shards++) {
        struct keyspace k = space_of(LOCUS_KEYS_MAX, shards);
        for (size_t i = 0; i < sizeof interesting / sizeof *interesting; i++)
            for (uint64_t near = 0; near < 2 * shards; near += shards / 3 + 1) {
                uint64_t key = (interesting[i] + near) % LOCUS_KEYS_MAX;
                CHECK_EQ(keyspace_index(&k, key), key / shards);
                CHECK_EQ(keyspace_shard(&k, key), key % shards);
                CHECK_EQ(keyspace_key(&k, (unsigned)(key % shards), key / shards), key);
            }
        const uint64_t last = (LOCUS_KEYS_MAX - 1) / shards * shards;
        CHECK_EQ(keyspace_index(&k, last), last / shards);
        CHECK_EQ(keyspace_index(&k, last - 1), last / shards - 1);
        keyspace_fini(&k);
    }
}

TEST(keyspace, neighbouring_tables_of_one_length_are_one_range)
{
    const struct locus_table tables[] = {{.rows = 5, .length = 3},
                                         {.rows = 7, .length = 3},
                                         {.rows = 2, .length = 4},
                                         {.rows = 1, .length = 3},
                                         {.rows = 4, .length = 3}};
    const unsigned expected[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2};
    CLOSED_BY(keyspace_fini) struct keyspace k;
    CHECK_EQ(keyspace_init(&k, tables, 5, 2), 0);
    CHECK_EQ(k.tables, 5);
    CHECK_EQ(k.ranges, 3);
    for (locus_key key = 0; key < k.keys; key++) {
        const struct keyspace_table *r = &k.range[keyspace_range_of(&k, key)];
        CHECK_EQ(keyspace_range_of(&k, key), expected[key]);
        CHECK(r->first <= key && key < r->end);
        CHECK_EQ(r->length, k.table[keyspace_table_of(&k, key)].length);
    }
    CHECK_EQ(keyspace_longest(&k), 4);
}

TEST(keyspace, table_of_a_key_is_found)
{
    for (size_t count = 1; count <= 40; count++) {
        struct locus_table *t = calloc(count, sizeof *t);
        struct keyspace k;
        CHECK(t != NULL);
        for (size_t i = 0; i < count; i++)
            t[i] = (struct locus_table){.rows = 1 + i * i % 7, .length = (uint32_t)i + 1};
        CHECK_EQ(keyspace_init(&k, t, count, 3), 0);
        uint64_t key = 0;
        for (size_t i = 0; i < count; i++) {
            CHECK_EQ(k.table[i].first, key);
            CHECK_EQ(k.table[i].length, i + 1);
            for (uint64_t row = 0; row < t[i].rows; row++)
                CHECK_EQ(keyspace_table_of(&k, key++), i);
            CHECK_EQ(k.table[i].end, key);
        }
        CHECK_EQ(k.keys, key);
        keyspace_fini(&k);
        free(t);
    }
}

TEST(keyspace, init_refuses_wrong_tables)
{
    struct keyspace k;
    struct locus_table t[3] = {
        {.rows = 5, .length = 1}, {.rows = 5, .length = 1}, {.rows = 0, .length = 1}};
    REFUSED(keyspace_init(&k, t, 3, 1), -EINVAL, "table 2 has no rows");
    CHECK(k.table == NULL);
    CHECK_EQ(k.keys, 0);
    keyspace_fini(&k); /* harmless */
    REFUSED(keyspace_init(&k, t, 2, 0), -EINVAL, "shards is 0");
    struct locus_table last[2] = {{.rows = LOCUS_KEYS_MAX - 1, .length = 1},
                                  {.rows = 2, .length = LOCUS_LENGTH_MAX}};
    REFUSED(keyspace_init(&k, last, 2, 1), -EINVAL, "table 1 with 2 rows");
    last[1].rows = 1; /* the last key that there may be */
    CHECK_EQ(keyspace_init(&k, last, 2, 1), 0);
    CHECK_EQ(k.keys, LOCUS_KEYS_MAX);
    CHECK_EQ(keyspace_table_of(&k, LOCUS_KEYS_MAX - 1), 1);
    keyspace_fini(&k);
    CHECK_EQ(keyspace_init(&k, t, 0, 1), -EINVAL);
    CHECK_EQ(keyspace_init(&k, NULL, 1, 1), -EINVAL);
}

/* ---- homes ---- */

enum { KEYS = 3 * HOME_BUCKETS + 77 };

/* Every key has one home; there it has a slot of its own among those that have, at other nodes two
 * among those that have not. */
static void check_part(unsigned nodes, unsigned part)
{
    static struct home h;
    unsigned homes[KEYS] = {0};
    for (unsigned rank = 0; rank < nodes; rank++) {
        home_init(&h, nodes, rank);
        unsigned first = home_first_bucket(&h, part);
        uint64_t below[2] = {home_slots(&h, first + KEYS, 0), home_slots(&h, first + KEYS, 1)},
                 own = 0;
        unsigned char *used[2] = {calloc(1, below[0] + 1), calloc(1, below[1] + 1)};
        CHECK(used[0] != NULL && used[1] != NULL);
        CHECK(first < HOME_BUCKETS);
        CHECK(below[0] + below[1] / 2 <= KEYS + 2 * HOME_BUCKETS);
        for (unsigned k = 0; k < KEYS; k++) {
            uint64_t elsewhere = 2, slot = home_slot(&h, first + k, &elsewhere);
            CHECK(h.node[(first + k) % HOME_BUCKETS] < nodes);
            CHECK_EQ(elsewhere, h.node[(first + k) % HOME_BUCKETS] != rank);
            CHECK(slot + elsewhere < below[elsewhere]);
            CHECK(nodes > 1 || (first == 0 && slot == k));
            CHECK_EQ(used[elsewhere][slot], 0);
            CHECK_EQ(used[elsewhere][slot + elsewhere], 0);
            used[elsewhere][slot] = used[elsewhere][slot + elsewhere] = 1;
            homes[k] += !elsewhere;
            own += !elsewhere;
        }
        /* Within one round of the buckets of a fair share. */
        CHECK(own * nodes <= KEYS + (uint64_t)nodes * nodes);
        free(used[0]);
        free(used[1]);
    }
    for (unsigned k = 0; k < KEYS; k++) CHECK_EQ(homes[k], 1);
}

TEST(home, each_key_has_one_home_and_a_slot_on_each_node)
{
    const unsigned nodes[] = {1, 2, 3, 5, 8, 64};
    for (unsigned i = 0; i < sizeof nodes / sizeof *nodes; i++)
        for (unsigned part = 0; part < 4; part++) check_part(nodes[i], part);
}

TEST(home, small_parts_do_not_all_begin_at_the_same_node)
{
    static struct home h;
    unsigned count[8] = {0};
    home_init(&h, 8, 0);
    for (unsigned part = 0; part < 800; part++) count[h.node[home_first_bucket(&h, part)]]++;
    for (unsigned n = 0; n < 8; n++) CHECK(count[n] > 0);
}
