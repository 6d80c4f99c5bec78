/* governor_test.c - how long to pause between two synchronizations, and how far ahead of the window to act with one. */
#include "protocol/pacer.h"

#include "test.h"

enum { WORKERS = 2 };

static locus_clock now_of[WORKERS];
static const locus_clock *const clocks[WORKERS] = {&now_of[0], &now_of[1]};

static struct governor opened(void)
{
    struct governor g = {.round_ns = 1000, .kib_ns = 100};
    CHECK_EQ(governor_init(&g, WORKERS), 0);
    now_of[0] = now_of[1] = 0;
    return g;
}

TEST(governor, pauses_in_proportion_to_what_it_took)
{
    struct governor g = opened();
    CHECK(governor_allows(&g, 0));
    governor_spent(&g, 500, 3, 2048);
    governor_pause(&g, 10000, clocks);
    CHECK_EQ(g.due_ns, 10000 + GOVERNOR_FACTOR * (500 + 3 * 1000 + 2 * 100));
    CHECK(!governor_allows(&g, g.due_ns - 1));
    CHECK(governor_allows(&g, g.due_ns));
    governor_pause(&g, 100000, clocks);
    CHECK_EQ(g.due_ns, 100000);
    g.pause_ns = 7000;
    governor_pause(&g, 200000, clocks);
    CHECK_EQ(g.due_ns, 207000);
    governor_fini(&g);
}

/* Synchronizes as soon as it may, which costs next to nothing; returns how long it must wait then. */
static uint64_t pause_after(struct governor *g, uint64_t now_ns)
{
    governor_pause(g, now_ns, clocks);
    return g->due_ns - now_ns;
}

TEST(governor, pauses_for_some_clocks_of_the_fastest_worker)
{
    struct governor g = opened();
    CHECK_EQ(pause_after(&g, 1000), 0); /* nobody has passed a clock: what they take is not known */
    now_of[0] = 10, now_of[1] = 40;
    CHECK_EQ(pause_after(&g, 41000), GOVERNOR_CLOCKS * 1000);
    now_of[0] = 30;
    CHECK_EQ(pause_after(&g, 81000), GOVERNOR_CLOCKS * 2000);
    CHECK_EQ(pause_after(&g, 82000), GOVERNOR_CLOCKS * 2000);
    now_of[0] = 31; /* since the last one that passed, not since we last synchronized */
    CHECK_EQ(pause_after(&g, 91000), GOVERNOR_CLOCKS * 10000);
    now_of[0] = 0; /* a worker opened again */
    CHECK_EQ(pause_after(&g, 101000), GOVERNOR_CLOCKS * 10000);
    now_of[0] = 5;
    governor_spent(&g, 30000, 0, 0); /* what it costs counts when it is more */
    CHECK_EQ(pause_after(&g, 126000), GOVERNOR_FACTOR * 30000);
    governor_fini(&g);
}

TEST(governor, does_not_pause_long_for_long_clocks)
{
    struct governor g = opened();
    pause_after(&g, 1000);
    now_of[0] = 1;
    CHECK_EQ(pause_after(&g, UINT64_C(3000000000)), GOVERNOR_CLOCKS_NS_MAX);
    now_of[0] = 2;
    CHECK_EQ(pause_after(&g, UINT64_C(3000000000) + 2 * GOVERNOR_CLOCKS_NS_MAX), GOVERNOR_CLOCKS_NS_MAX);
    governor_fini(&g);
}

TEST(governor, counts_what_it_serves_until_time_has_paid_for_it)
{
    struct governor g = opened();
    governor_served(&g, 1000, 300, 1, 1024);
    governor_served(&g, 1000, 300, 0, 0);
    governor_pause(&g, 1000, clocks);
    CHECK_EQ(g.due_ns, 1000 + GOVERNOR_FACTOR * (300 + 1000 + 100 + 300));
    uint64_t due = g.due_ns;
    governor_served(&g, due, 5000, 0, 0);
    governor_served(&g, due + GOVERNOR_FACTOR * 5000, 700, 0, 0);
    governor_pause(&g, due + GOVERNOR_FACTOR * 5000, clocks);
    CHECK_EQ(g.due_ns, due + GOVERNOR_FACTOR * (5000 + 700));
    governor_served(&g, g.due_ns, UINT64_MAX / 8, 0, 0);
    due = g.due_ns;
    governor_pause(&g, due, clocks);
    CHECK_EQ(g.due_ns, due + (uint64_t)GOVERNOR_FACTOR * GOVERNOR_SERVED_NS_MAX);
    governor_fini(&g);
}

TEST(governor, pauses_longer_for_rounds_where_they_carry_few_intents)
{
    struct governor g = opened();
    governor_spent(&g, 0, 10, 0);
    governor_pause(&g, 10000, clocks);
    CHECK_EQ(g.due_ns, 10000 + GOVERNOR_FACTOR * 10 * 1000);
    g.rounds_are_sparse = true;
    governor_spent(&g, 0, 6, 0);
    governor_spent(&g, 0, 4, 0);
    governor_pause(&g, 100000, clocks);
    CHECK_EQ(g.due_ns, 100000 + GOVERNOR_ROUNDS_FACTOR * 2 * 10 * 1000);
    governor_pause(&g, 1000000, clocks); /* they are paid for */
    CHECK_EQ(g.due_ns, 1000000);
    governor_spent(&g, 0, 5000, 0);
    governor_pause(&g, 2000000, clocks);
    CHECK_EQ(g.due_ns, 2000000 + GOVERNOR_ROUNDS_NS_MAX);
    governor_spent(&g, 0, 50000, 0); /* but for what all of it took there is no bound */
    governor_pause(&g, 100000000, clocks);
    CHECK_EQ(g.due_ns, 100000000 + GOVERNOR_FACTOR * 50000 * 1000);
    governor_fini(&g);
}

/* Synchronizes at `now_ns` with a pause of `pause_ns` behind. */
static void synchronize(struct governor *g, uint64_t now_ns, uint64_t pause_ns)
{
    governor_spent(g, pause_ns / GOVERNOR_FACTOR, 0, 0);
    governor_pause(g, now_ns, clocks);
}

TEST(governor, knows_how_long_clocks_ahead_take)
{
    struct governor g = opened();
    synchronize(&g, 10000, 800000);
    synchronize(&g, 810000, 800000);
    CHECK_EQ(governor_eighths_us(&g, 0), 0);
    CHECK_EQ(governor_eighths_us(&g, 1), 200);
    CHECK_EQ(governor_eighths_us(&g, 7), 1400);
    synchronize(&g, 1610000, 8000000); /* these clocks are of the pause before, which was shorter */
    CHECK_EQ(governor_eighths_us(&g, 7), 1400);
    synchronize(&g, 9610000, 80000);
    CHECK_EQ(governor_eighths_us(&g, 7), 140);
    governor_fini(&g);
}

TEST(governor, knows_what_was_a_part_of_a_pause_ago)
{
    struct governor g = opened();
    synchronize(&g, 10000, 8000000);
    CHECK(governor_is_recent(&g, 1000, 6999));
    CHECK(!governor_is_recent(&g, 1000, 7000));
    CHECK(governor_is_recent(&g, UINT32_MAX, 5998));
    CHECK(!governor_is_recent(&g, UINT32_MAX, 5999));
    synchronize(&g, 9000000, 2000000000);
    CHECK_EQ(governor_recent_ns(&g), GOVERNOR_ROUNDS_NS_MAX / 4 * 3);
    governor_fini(&g);
}

/* When as many clocks have passed since as before. */
static locus_clock ahead_later(const struct governor *g, unsigned worker)
{
    return governor_ahead(g, worker, g->then[worker] + 1000);
}

TEST(governor, looks_two_pauses_ahead_of_each_worker)
{
    struct governor g = opened();
    synchronize(&g, 10000, 8000);
    now_of[0] = 30;
    synchronize(&g, 18000, 8000);
    CHECK_EQ(ahead_later(&g, 0), 60);
    CHECK_EQ(ahead_later(&g, 1), 0);
    now_of[0] = 130, now_of[1] = 8;
    synchronize(&g, 58000, 8000); /* five pauses passed */
    CHECK_EQ(ahead_later(&g, 0), 40);
    CHECK_EQ(ahead_later(&g, 1), 3);
    now_of[0] = 131;
    synchronize(&g, 58010, 8000); /* quiesce does not wait */
    CHECK_EQ(ahead_later(&g, 0), 2);
    now_of[0] = 0; /* a worker opened again */
    synchronize(&g, 66010, 8000);
    CHECK_EQ(ahead_later(&g, 0), 0);
    synchronize(&g, 66010, 8000);
    CHECK_EQ(ahead_later(&g, 0), 0);
    governor_fini(&g);
}

TEST(governor, does_not_look_ahead_of_a_worker_that_stands)
{
    struct governor g = opened();
    synchronize(&g, 10000, 8000);
    now_of[0] = 30;
    synchronize(&g, 18000, 8000);
    CHECK_EQ(governor_ahead(&g, 0, 30), 0);
    CHECK_EQ(governor_ahead(&g, 0, 31), 2);
    CHECK_EQ(governor_ahead(&g, 0, 59), 58);
    CHECK_EQ(governor_ahead(&g, 0, 61), 60);
    CHECK_EQ(governor_ahead(&g, 0, 0), 0); /* opened again */
    governor_fini(&g);
}

static void carry(struct governor *g, unsigned rounds, uint64_t intents)
{
    for (unsigned i = 0; i < rounds; i++) governor_carries(g, intents, 1);
}

TEST(governor, judges_by_many_rounds_whether_they_carry_few_intents)
{
    struct governor g = opened();
    carry(&g, GOVERNOR_JUDGED_ROUNDS - 1, 1);
    CHECK(!g.rounds_are_sparse);
    carry(&g, 1, 1);
    CHECK(g.rounds_are_sparse);
    carry(&g, GOVERNOR_JUDGED_ROUNDS - 1, GOVERNOR_FEW_INTENTS);
    carry(&g, 1, GOVERNOR_FEW_INTENTS + 1);
    CHECK(!g.rounds_are_sparse);
    carry(&g, GOVERNOR_JUDGED_ROUNDS, GOVERNOR_FEW_INTENTS);
    CHECK(g.rounds_are_sparse);
    governor_fini(&g);
}

TEST(governor, takes_a_round_for_the_several_that_it_stands_for)
{
    struct governor g = opened();
    for (unsigned i = 0; i < GOVERNOR_JUDGED_ROUNDS / 8; i++) governor_carries(&g, 8 * GOVERNOR_FEW_INTENTS, 8);
    CHECK(g.rounds_are_sparse);
    for (unsigned i = 0; i < GOVERNOR_JUDGED_ROUNDS / 8; i++) governor_carries(&g, 8 * GOVERNOR_FEW_INTENTS + 1, 8);
    CHECK(!g.rounds_are_sparse);
    governor_fini(&g);
}

TEST(governor, knows_no_clocks_where_there_are_no_intents)
{
    struct governor g = opened();
    governor_pause(&g, 1000, NULL);
    governor_pause(&g, 2000, NULL);
    CHECK_EQ(ahead_later(&g, 0), 0);
    governor_fini(&g);
}
