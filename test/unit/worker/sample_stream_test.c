/* What a worker draws from one distribution. */
#include "worker/sample_stream.h"

#include "common/stores.h"
#include "test.h"

#include <string.h>

/* Clocks in the past, so that nothing is signaled. */
static void draw(struct stream *s, const struct target *t, struct keyset *drawn, locus_key *keys,
                 size_t n)
{
    const struct drawing d = {.target = t, .drawn = drawn, .now = 1, .start = 1, .end = 1};
    if (drawn) CHECK_EQ(keyset_begin(drawn, n), 0);
    CHECK_EQ(stream_draw_reused(s, &d, keys, n), 0);
}

/* How many pools are filled ahead depends on which rows are here, and so on time. What is drawn
 * must not. */
static void check_ahead(bool is_unique)
{
    enum { COUNT = 5 * POOL_KEYS * POOL_USES / 50, SAMPLE = 50 };
    struct stream s[2] = {0};
    CLOSED_BY(target_fini) struct target t;
    CLOSED_BY(keyset_fini) struct keyset drawn = {0};
    target_init_uniform(&t, 0, 1000);
    for (int i = 0; i < 2; i++) stream_seed(&s[i], 7, 1, 2);
    for (int i = 0; i < COUNT; i++) {
        locus_key keys[2][SAMPLE];
        if (i == 3) s[1].ahead = 2;
        if (i == COUNT / 2) s[1].ahead = POOLS_AHEAD_MAX;
        for (int j = 0; j < 2; j++) draw(&s[j], &t, is_unique ? &drawn : NULL, keys[j], SAMPLE);
        CHECK(memcmp(keys[0], keys[1], sizeof keys[0]) == 0);
    }
    for (int i = 0; i < 2; i++) stream_fini(&s[i]);
}

/* All that is drawn differs, what pools have included. */
TEST(stream, draw_of_another_seed_rank_or_worker_has_other_pools)
{
    static const uint64_t who[4][3] = {{7, 1, 2}, {8, 1, 2}, {7, 2, 2}, {7, 1, 3}};
    enum { SAMPLE = 50 };
    locus_key keys[4][POOL_KEYS];
    CLOSED_BY(target_fini) struct target t;
    target_init_uniform(&t, 0, UINT64_C(1) << 40);
    for (int i = 0; i < 4; i++) {
        struct stream s = {0};
        stream_seed(&s, who[i][0], who[i][1], who[i][2]);
        draw(&s, &t, NULL, keys[i], SAMPLE);
        memcpy(keys[i], s.pool[0].key, sizeof keys[i]);
        stream_fini(&s);
    }
    CLOSED_BY(keyset_fini) struct keyset seen = {0};
    CHECK_EQ(keyset_begin(&seen, 4 * POOL_KEYS), 0);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < POOL_KEYS; k++) CHECK(keyset_add(&seen, keys[i][k]));
}

TEST(stream, draw_does_not_depend_on_pools_filled_ahead)
{
    check_ahead(false);
    check_ahead(true);
}

/* Pools filled ahead after `uses` pools were used up, beside a store of the node 0 of `size`. */
static unsigned ahead_after(unsigned uses, unsigned size, bool rows_move)
{
    enum { KEYS = 1000, SAMPLE = POOL_KEYS };
    const struct locus_table table = {.rows = KEYS, .length = 1};
    CLOSED_BY(store_fini) struct store store;
    CLOSED_BY(target_fini) struct target t;
    struct stream s = {0};
    CHECK_EQ(store_init(&store, &table, 1, 1, size, 0), 0);
    target_init_uniform(&t, 0, KEYS);
    stream_seed(&s, 7, 1, 2);
    for (unsigned i = 0; i < uses * POOL_USES; i++) {
        const struct drawing d = {
            .target = &t, .store = &store, .now = i, .start = i, .end = i, .rows_move = rows_move};
        locus_key keys[SAMPLE];
        CHECK_EQ(stream_draw_reused(&s, &d, keys, SAMPLE), 0);
    }
    unsigned ahead = s.ahead;
    CHECK_EQ(s.filled, ahead + 1);
    stream_fini(&s);
    return ahead;
}

TEST(stream, draw_fills_one_pool_more_ahead_when_rows_are_missing_at_a_pools_turn)
{
    CHECK_EQ(ahead_after(3, 2, true), 4);
    CHECK_EQ(ahead_after(20, 2, true), POOLS_AHEAD_MAX);
    CHECK_EQ(ahead_after(3, 1, true), 1);  /* all rows are here */
    CHECK_EQ(ahead_after(3, 2, false), 1); /* no intent would bring them */
}
