/* hottest: the keys that come most often, of more than it can count. */
#include "observe/hottest.h"
#include "test.h"

static struct hottest h;

static void add_many(locus_key key, unsigned times)
{
    for (unsigned i = 0; i < times; i++) hottest_add(&h, key);
}

TEST(hottest, list_of_few_keys_is_exact)
{
    struct hottest_key key[4];
    hottest_clear(&h);
    add_many(7, 3);
    add_many(9, 5);
    add_many(1, 1);
    CHECK_EQ(hottest_list(&h, key, 4), 2); /* once is not often */
    CHECK_EQ(key[0].key, 9);
    CHECK_EQ(key[0].count, 5);
    CHECK_EQ(key[1].key, 7);
    CHECK_EQ(key[1].error, 0);
    CHECK_EQ(hottest_list(&h, key, 1), 1);
    hottest_clear(&h);
    CHECK_EQ(hottest_list(&h, key, 4), 0);
}

/* Among ten times as many others as there are counters, each of which takes one over. */
TEST(hottest, list_of_many_keys_has_the_frequent_ones)
{
    struct hottest_key key[4];
    hottest_clear(&h);
    for (unsigned i = 0; i < 10 * HOTTEST_KEYS; i++) {
        hottest_add(&h, 1000 + i);
        if (i % 4 == 0) hottest_add(&h, 5);
        if (i % 8 == 0) hottest_add(&h, 6);
    }
    CHECK(hottest_list(&h, key, 4) >= 2);
    CHECK_EQ(key[0].key, 5);
    CHECK_EQ(key[1].key, 6);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t really = 10 * HOTTEST_KEYS / (i == 0 ? 4 : 8);
        CHECK(key[i].count >= really && key[i].count - key[i].error <= really);
    }
    CHECK_EQ(h.all, 10 * HOTTEST_KEYS + 10 * HOTTEST_KEYS / 4 + 10 * HOTTEST_KEYS / 8);
}
