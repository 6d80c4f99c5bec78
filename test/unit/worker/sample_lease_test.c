/* How long a pool's keys are intended, and how often that is signaled. */
#include "worker/sample_stream.h"

#include "one_node.h"

struct scene {
    locus *node;
    locus_worker *worker;
    struct preparer who;
    struct pool pool;
    uint64_t signaled; /* so far */
};

static void scene_begin(struct scene *s)
{
    static locus_key all_keys[POOL_KEYS];
    for (unsigned i = 0; i < POOL_KEYS; i++) all_keys[i] = i;
    *s = (struct scene){.node = one_node(POOL_KEYS, 1, 1)};
    s->who.worker = s->worker = worker_of(s->node);
    s->pool.key = all_keys;
    s->pool.size = POOL_KEYS;
}

static void scene_end(struct scene *s)
{
    close_both(s->node, s->worker);
}

/* After uses of these clocks: what is covered, and how many times all keys were intended for that. */
static void check_cover(struct scene *s, locus_clock start, locus_clock end, locus_clock lasts,
                        locus_clock from, locus_clock to, unsigned times)
{
    CHECK_EQ(pool_cover(&s->pool, &s->who, start, end, lasts), 0);
    uint64_t all = stats_of(s->node).intents_signaled;
    CHECK_EQ(s->pool.from, from);
    CHECK_EQ(s->pool.to, to);
    CHECK_EQ(all - s->signaled, times * POOL_KEYS);
    s->signaled = all;
}

TEST_WITH(pool, cover_signals_what_is_not_covered, scene, s)
{
    check_cover(s, 10, 11, 9, 10, 20, 1);
    for (locus_clock c = 10; c < 20; c++) check_cover(s, c, c + 1, 5, 10, 20, 0);
    check_cover(s, 5, 12, 1, 5, 20, 1);
    check_cover(s, 20, 21, 100, 5, 121, 1);
}

/* One clock at a time, whatever is said of how long it lasts: extensions grow. */
TEST_WITH(pool, cover_extends_seldom, scene, s)
{
    enum { CLOCKS = 100000 };
    for (locus_clock c = 0; c < CLOCKS; c++)
        CHECK_EQ(pool_cover(&s->pool, &s->who, c, c + 1, c % 2), 0);
    uint64_t times = stats_of(s->node).intents_signaled / POOL_KEYS;
    CHECK(times > 1 && times < 150); /* CLOCKS by eighths: about 98 */
    CHECK(s->pool.to >= CLOCKS);
}

TEST_WITH(pool, cover_ends_with_the_last_clock, scene, s)
{
    check_cover(s, INT64_MAX - 5, INT64_MAX - 4, 100, INT64_MAX - 5, INT64_MAX, 1);
}
