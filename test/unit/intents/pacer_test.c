/* How long a shard pauses between two synchronizations, by what they cost. */
#include "intents/pacer.h"

#include "test.h"

enum { WORKERS = 2, COST_NS = 500 + 3 * 1000 + 2 * 100 };

static locus_clock now_of[WORKERS];
static const locus_clock *const clocks[WORKERS] = {&now_of[0], &now_of[1]};

static struct pacer opened(void)
{
    struct pacer g = {.round_ns = 1000, .kib_ns = 100};
    CHECK_EQ(pacer_init(&g, WORKERS), 0);
    now_of[0] = now_of[1] = 0;
    return g;
}

/* Synchronizes for so long; returns how long it must wait then. */
static uint64_t pause_after(struct pacer *g, uint64_t now_ns, uint64_t cost_ns)
{
    pacer_spent(g, cost_ns, 0, 0);
    pacer_pause(g, now_ns, clocks);
    CHECK(pacer_allows(g, g->due_ns) && (g->due_ns == 0 || !pacer_allows(g, g->due_ns - 1)));
    return g->due_ns - now_ns;
}

/* The processor, rounds and bytes; and no less than the limit on rounds. On shared cores a multiple
 * of it. */
TEST(pacer, pause_is_in_proportion_to_cost)
{
    for (int own = 0; own < 2; own++) {
        CLOSED_BY(pacer_fini) struct pacer g = opened();
        const uint64_t factor = own ? PACER_FACTOR_OWN : PACER_FACTOR;
        g.has_own_core = own;
        pacer_spent(&g, 500, 3, 2048);
        CHECK_EQ(pause_after(&g, 10000, 0), factor * COST_NS);
        CHECK_EQ(pause_after(&g, 100000, 0), 0);
        g.pause_ns = 7000000;
        CHECK_EQ(pause_after(&g, UINT64_C(1000000000), 0), g.pause_ns);
    }
}

TEST(pacer, ahead_does_not_go_beyond_what_a_worker_did_since)
{
    CLOSED_BY(pacer_fini) struct pacer g = opened();
    pause_after(&g, 10000, 8000 / PACER_FACTOR);
    now_of[0] = 30;
    pause_after(&g, 18000, 8000 / PACER_FACTOR);
    CHECK_EQ(pacer_ahead(&g, 0, 30), 0); /* it stands */
    CHECK_EQ(pacer_ahead(&g, 0, 59), 58);
    CHECK_EQ(pacer_ahead(&g, 0, 61), 60);
    CHECK_EQ(pacer_ahead(&g, 0, 0), 0);    /* opened again */
    CHECK_EQ(pacer_ahead(&g, 1, 1000), 0); /* it passed no clock */
    pacer_pause(&g, 20000, NULL);
    pacer_pause(&g, 30000, NULL);
    CHECK_EQ(pacer_ahead(&g, 0, 1000), 0); /* there are no intents */
}
