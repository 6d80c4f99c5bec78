/* home_rows: every row that is not zero is seen once, by its home, wherever it is. */
#include "checkpoint/stages.h"

#include "common/stores.h"
#include "pair.h"

#include <string.h>

enum { KEYS_MAX = 200000 };

struct seen {
    const struct keyspace *keyspace;
    unsigned char times[KEYS_MAX];
    float first[KEYS_MAX]; /* of the row */
    unsigned rows;
    int rc;
};

static int see(void *context, unsigned table, uint64_t row, const float *values)
{
    struct seen *s = context;
    locus_key key = s->keyspace->table[table].first + row;
    CHECK(key < s->keyspace->table[table].end);
    s->times[key]++;
    s->first[key] = values[0];
    s->rows++;
    return s->rc;
}

static void see_all(locus_worker *w, struct seen *s)
{
    struct slice dealt = {.table = 0}, slice;
    s->keyspace = &w->store->keyspace;
    while (home_rows_deal(w->store, &dealt, &slice)) CHECK_EQ(home_rows_each(w, &slice, see, s), 0);
    CHECK(!home_rows_deal(w->store, &dealt, &slice)); /* and it stays so */
}

/* ---- slices ---- */

TEST(home_rows, deal_gives_each_key_once_in_bounded_slices)
{
    static const struct locus_table tables[] = {
        {.rows = 3, .length = 1}, {.rows = 200000, .length = 1}, {.rows = 1, .length = 2}};
    static unsigned char dealt[200004];
    for (unsigned shards = 1; shards < 8; shards += 2) {
        struct store store;
        struct slice last = {.table = 0}, s;
        CHECK_EQ(store_init(&store, tables, 3, shards, 1, 0), 0);
        memset(dealt, 0, sizeof dealt);
        while (home_rows_deal(&store, &last, &s)) {
            CHECK(s.from < s.end && s.end - s.from <= 1 << 16);
            for (uint64_t index = s.from; index < s.end; index++) {
                locus_key key = keyspace_key(&store.keyspace, s.shard, index);
                CHECK_EQ(keyspace_table_of(&store.keyspace, key), s.table);
                CHECK_EQ(dealt[key]++, 0);
            }
        }
        CHECK(!home_rows_deal(&store, &last, &s));
        for (size_t key = 0; key < sizeof dealt; key++) CHECK_EQ(dealt[key], 1);
        store_fini(&store);
    }
}

/* ---- rows ---- */

/* Minus zero is a value like any other: its bits come back. */
TEST(home_rows, each_passes_over_rows_of_zeros)
{
    static struct seen s;
    static const struct locus_table table = {.rows = 5000, .length = 2};
    locus *n = node_of(&table, 1, 1, 2);
    locus_worker *w = worker_of(n);
    for (locus_key key = 0; key < 5000; key += 3) {
        const float row[2] = {key % 2 ? 0 : (float)key + 1, key % 2 ? -0.0F : 0};
        CHECK_EQ(locus_set(w, &key, 1, row), 0);
    }
    const locus_key zero = 1;
    const float row[2] = {0, 0};
    CHECK_EQ(locus_set(w, &zero, 1, row), 0); /* written, and zero */
    see_all(w, &s);
    for (locus_key key = 0; key < 5000; key++) {
        CHECK_EQ(s.times[key], key % 3 == 0);
        if (key % 6 == 0) CHECK(s.first[key] == (float)key + 1);
    }
    close_both(n, w);
}

/* More that are elsewhere than are pulled at once; rows that are longer than that memory. */
TEST(home_rows, each_fetches_rows_that_are_elsewhere)
{
    enum { ROWS = 3000, LONG = 70000 };
    static const struct locus_table two[] = {{.rows = ROWS, .length = 1},
                                             {.rows = 4, .length = LONG}};
    static struct seen seen[2];
    CLOSED_BY(pair_end) struct pair p;
    pair_init(&p, two, 2);
    pair_open(&p);
    CLOSED_BY(free_at) float *row = floats_of(LONG);
    for (locus_key key = 0; key < ROWS + 4; key++) {
        row[0] = (float)key + 1;
        CHECK_EQ(locus_set(p.worker[key % 2], &key, 1, row), 0);
        if (key >= ROWS) pair_bring(&p, 0, key);
    }
    for (locus_key key = 0; key < ROWS; key++) CHECK_EQ(locus_localize(p.worker[0], &key, 1), 0);
    for (locus_key key = 0; key < ROWS; key++) pair_bring(&p, 0, key);
    for (int rank = 0; rank < 2; rank++) see_all(p.worker[rank], &seen[rank]);
    for (locus_key key = 0; key < ROWS + 4; key++) {
        int home = pair_key_of(&p, 0, key) == key ? 0 : 1;
        CHECK_EQ(seen[home].times[key], 1);
        CHECK_EQ(seen[!home].times[key], 0);
        CHECK(seen[home].first[key] == (float)key + 1);
    }
    CHECK(seen[1].rows > 1024);
}
