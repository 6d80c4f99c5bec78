#include "sampling/lease.h"

#include "one_node.h"

struct scene {
    locus *node;
    locus_worker *worker;
    struct preparer who;
    struct pool pool;
    struct lease lease;
    uint64_t signaled; /* so far */
};

static struct scene scene(void)
{
    static locus_key all_keys[POOL_KEYS];
    struct scene s = {.node = NULL};
    for (unsigned i = 0; i < POOL_KEYS; i++) all_keys[i] = i;
    s.node = one_node(POOL_KEYS, 1, 1);
    s.worker = worker_of(s.node);
    s.who.worker = s.worker;
    /* Its number of keys is what counts. */
    s.pool.key = all_keys;
    s.pool.size = POOL_KEYS;
    return s;
}

/* How many times all keys of the pool were intended since the last look. */
static uint64_t times_intended(struct scene *s)
{
    uint64_t all = stats_of(s->node).intents_signaled, since = all - s->signaled;
    s->signaled = all;
    CHECK_EQ(since % POOL_KEYS, 0);
    return since / POOL_KEYS;
}

static void covers(const struct scene *s, locus_clock from, locus_clock to)
{
    CHECK_EQ(s->lease.from, from);
    CHECK_EQ(s->lease.to, to);
}

TEST(lease, what_is_covered_signals_nothing)
{
    struct scene s = scene();
    CHECK_EQ(lease_begin(&s.lease, &s.pool, &s.who, 10, 20), 0);
    CHECK_EQ(times_intended(&s), 1);
    for (locus_clock c = 10; c < 20; c++) {
        CHECK_EQ(lease_cover(&s.lease, &s.pool, &s.who, c, c + 1, 5), 0);
        covers(&s, 10, 20);
    }
    CHECK_EQ(times_intended(&s), 0);
    close_both(s.node, s.worker);
}

TEST(lease, that_is_none_begins_with_what_is_expected)
{
    struct scene s = scene();
    CHECK_EQ(lease_cover(&s.lease, &s.pool, &s.who, 10, 11, 30), 0);
    covers(&s, 10, 41);
    CHECK_EQ(times_intended(&s), 1);
    close_both(s.node, s.worker);
}

TEST(lease, reaches_back_and_on)
{
    struct scene s = scene();
    CHECK_EQ(lease_begin(&s.lease, &s.pool, &s.who, 10, 20), 0);
    CHECK_EQ(lease_cover(&s.lease, &s.pool, &s.who, 5, 12, 1), 0);
    covers(&s, 5, 20);
    CHECK_EQ(lease_cover(&s.lease, &s.pool, &s.who, 20, 21, 100), 0);
    covers(&s, 5, 121);
    CHECK_EQ(times_intended(&s), 3);
    close_both(s.node, s.worker);
}

/* One clock at a time, whatever is said of how long it lasts: extensions grow with the lease. */
TEST(lease, is_extended_seldom)
{
    enum { CLOCKS = 100000 };
    struct scene s = scene();
    for (locus_clock c = 0; c < CLOCKS; c++)
        CHECK_EQ(lease_cover(&s.lease, &s.pool, &s.who, c, c + 1, c % 2), 0);
    uint64_t times = times_intended(&s);
    CHECK(times > 1 && times < 150); /* a lease of CLOCKS by eighths: about 98 */
    CHECK(s.lease.to >= CLOCKS);
    close_both(s.node, s.worker);
}

TEST(lease, ends_with_the_last_clock)
{
    struct scene s = scene();
    CHECK_EQ(lease_cover(&s.lease, &s.pool, &s.who, INT64_MAX - 5, INT64_MAX - 4, 100), 0);
    covers(&s, INT64_MAX - 5, INT64_MAX);
    CHECK_EQ(clock_after(INT64_MAX - 1, 1), INT64_MAX);
    CHECK_EQ(clock_after(INT64_MAX, 1), INT64_MAX);
    close_both(s.node, s.worker);
}
