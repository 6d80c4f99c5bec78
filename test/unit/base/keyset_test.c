/* The keys that a sample has: each can be added once, until the set begins anew. */
#include "base/sets.h"
#include "worker/sample_target.h"
#include "test.h"

#include <string.h>

TEST(keyset, add_takes_a_key_once)
{
    static bool is_in[5000];
    CLOSED_BY(keyset_fini) struct keyset s = {0};
    struct random r;
    uint64_t rest;
    random_init(&r, 1, 0, 0);
    for (size_t n = 1; n <= 3000; n = n * 3 + 1) {
        size_t added = 0;
        memset(is_in, 0, sizeof is_in);
        CHECK_EQ(keyset_begin(&s, n), 0);
        while (added < n) {
            locus_key key = random_below(&r, 5000, &rest);
            CHECK_EQ(keyset_has(&s, key), is_in[key]);
            CHECK_EQ(keyset_add(&s, key), !is_in[key]);
            added += !is_in[key];
            is_in[key] = true;
        }
        for (locus_key key = 0; key < 5000; key++) CHECK_EQ(keyset_has(&s, key), is_in[key]);
    }
}

TEST(keyset, begin_empties_the_set)
{
    CLOSED_BY(keyset_fini) struct keyset s = {0};
    CHECK_EQ(keyset_begin(&s, 1000), 0);
    for (locus_key key = 0; key < 1000; key++) CHECK(keyset_add(&s, key));
    CHECK_EQ(keyset_begin(&s, 3), 0);
    for (locus_key key = 0; key < 1000; key++) CHECK(!keyset_has(&s, key));
    CHECK(keyset_add(&s, LOCUS_KEYS_MAX - 1) && keyset_add(&s, 0) && keyset_add(&s, 1));
    CHECK(!keyset_add(&s, LOCUS_KEYS_MAX - 1) && !keyset_add(&s, 0));
    CHECK_EQ(keyset_begin(&s, 1000), 0);
    for (locus_key key = 0; key < 1000; key++) CHECK(!keyset_has(&s, key));
}
