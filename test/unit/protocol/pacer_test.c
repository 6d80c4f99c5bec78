/* pacer_test.c - how long to pause between two synchronizations, and how far beyond the lookahead
 * to act with one. */
#include "protocol/pacer.h"

#include "test.h"

enum { WORKERS = 2 };

static locus_clock now_of[WORKERS];
static const locus_clock *const clocks[WORKERS] = {&now_of[0], &now_of[1]};

static struct pacer opened(void)
{
    struct pacer g = {.round_ns = 1000, .kib_ns = 100};
    CHECK_EQ(pacer_init(&g, WORKERS), 0);
    now_of[0] = now_of[1] = 0;
    return g;
}

TEST(pacer, pauses_in_proportion_to_what_it_took)
{
    CLOSED_BY(pacer_fini) struct pacer g = opened();
    CHECK(pacer_allows(&g, 0));
    pacer_spent(&g, 500, 3, 2048);
    pacer_pause(&g, 10000, clocks);
    CHECK_EQ(g.due_ns, 10000 + PACER_FACTOR * (500 + 3 * 1000 + 2 * 100));
    CHECK(!pacer_allows(&g, g.due_ns - 1));
    CHECK(pacer_allows(&g, g.due_ns));
    pacer_pause(&g, 100000, clocks);
    CHECK_EQ(g.due_ns, 100000);
    g.pause_ns = 7000;
    pacer_pause(&g, 200000, clocks);
    CHECK_EQ(g.due_ns, 207000);
}

/* Synchronizes as soon as it may, which costs next to nothing; returns how long it must wait
 * then. */
static uint64_t pause_after(struct pacer *g, uint64_t now_ns)
{
    pacer_pause(g, now_ns, clocks);
    return g->due_ns - now_ns;
}

TEST(pacer, counts_what_it_serves_until_time_has_paid_for_it)
{
    CLOSED_BY(pacer_fini) struct pacer g = opened();
    pacer_served(&g, 1000, 300, 1, 1024);
    pacer_served(&g, 1000, 300, 0, 0);
    pacer_pause(&g, 1000, clocks);
    CHECK_EQ(g.due_ns, 1000 + PACER_FACTOR * (300 + 1000 + 100 + 300));
    uint64_t due = g.due_ns;
    pacer_served(&g, due, 5000, 0, 0);
    pacer_served(&g, due + PACER_FACTOR * 5000, 700, 0, 0);
    pacer_pause(&g, due + PACER_FACTOR * 5000, clocks);
    CHECK_EQ(g.due_ns, due + PACER_FACTOR * (5000 + 700));
    pacer_served(&g, g.due_ns, UINT64_MAX / 8, 0, 0);
    due = g.due_ns;
    pacer_pause(&g, due, clocks);
    CHECK_EQ(g.due_ns, due + (uint64_t)PACER_FACTOR * PACER_SERVED_NS_MAX);
}

/* Neither clocks nor rounds make it wait: it takes nobody's time. */
TEST(pacer, pauses_with_a_core_of_its_own_as_long_as_it_took)
{
    CLOSED_BY(pacer_fini) struct pacer g = opened();
    g.has_own_core = g.rounds_are_sparse = true;
    CHECK_EQ(pause_after(&g, 1000), 0);
    now_of[0] = 1;
    pacer_spent(&g, 500, 3, 2048);
    CHECK_EQ(pause_after(&g, 2000000), PACER_FACTOR_OWN * (500 + 3 * 1000 + 2 * 100));
    CHECK(g.ahead_ns > 0 && pacer_ahead(&g, 0, 1) == 0);
    pacer_served(&g, g.due_ns, 5000, 0, 0);
    pacer_served(&g, g.due_ns + PACER_FACTOR_OWN * 5000, 700, 0, 0); /* time has paid */
    CHECK_EQ(pause_after(&g, 3000000), PACER_FACTOR_OWN * 700);
    g.pause_ns = UINT64_C(7000000); /* max_rounds_per_second */
    CHECK_EQ(pause_after(&g, 20000000), g.pause_ns);
}

/* Synchronizes at `now_ns` with a pause of `pause_ns` behind. */
static void synchronize(struct pacer *g, uint64_t now_ns, uint64_t pause_ns)
{
    pacer_spent(g, pause_ns / PACER_FACTOR, 0, 0);
    pacer_pause(g, now_ns, clocks);
}

/* When as many clocks have passed since as before. */
static locus_clock ahead_later(const struct pacer *g, unsigned worker)
{
    return pacer_ahead(g, worker, g->then[worker] + 1000);
}

TEST(pacer, does_not_look_ahead_of_a_worker_that_stands)
{
    CLOSED_BY(pacer_fini) struct pacer g = opened();
    synchronize(&g, 10000, 8000);
    now_of[0] = 30;
    synchronize(&g, 18000, 8000);
    CHECK_EQ(pacer_ahead(&g, 0, 30), 0);
    CHECK_EQ(pacer_ahead(&g, 0, 31), 2);
    CHECK_EQ(pacer_ahead(&g, 0, 59), 58);
    CHECK_EQ(pacer_ahead(&g, 0, 61), 60);
    CHECK_EQ(pacer_ahead(&g, 0, 0), 0); /* opened again */
}

TEST(pacer, knows_no_clocks_where_there_are_no_intents)
{
    CLOSED_BY(pacer_fini) struct pacer g = opened();
    pacer_pause(&g, 1000, NULL);
    pacer_pause(&g, 2000, NULL);
    CHECK_EQ(ahead_later(&g, 0), 0);
}
