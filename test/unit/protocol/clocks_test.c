#include "protocol/clocks.h"

#include "test.h"
#include "world.h"

enum { NODES = 3, WORKERS = 2, SAID_MAX = 32 };

/* The shard of node 0, whose workers' clocks and whose peers are the test's; it keeps what is
 * said. */
static struct {
    struct world *world;
    struct shard *s;
    struct platform calls;
    locus_clock progress[WORKERS];
    uint64_t posted[WORKERS];
    const locus_clock *progress_of[WORKERS];
    const uint64_t *posted_of[WORKERS];
    struct wire_entry said[SAID_MAX];
    unsigned to[SAID_MAX], count;
} t;

static struct wire_entry *note_entry(void *context, unsigned peer, uint32_t length, uint64_t until)
{
    (void)context, (void)until;
    CHECK(t.count < SAID_MAX && length == 0);
    t.to[t.count] = peer;
    memset(&t.said[t.count], 0, sizeof t.said[0]);
    return &t.said[t.count++];
}

static void begin(void)
{
    memset(&t, 0, sizeof t);
    t.world = world_open((struct world_config){LOCUS_ADAPTIVE, NODES, .workers = WORKERS});
    t.s = &t.world->node[0].shard;
    t.calls = *t.s->platform;
    t.calls.entry = note_entry;
    t.s->platform = &t.calls;
    for (int w = 0; w < WORKERS; w++) {
        t.progress_of[w] = &t.progress[w];
        t.posted_of[w] = &t.posted[w];
    }
    t.world->node[0].plan.progress = t.progress_of;
    t.world->node[0].plan.posted = t.posted_of;
}

static void end(void)
{
    world_free(&t.world);
}

static void turn(void)
{
    if (clocks_want_changes(t.s)) clocks_have_changes(t.s);
    clocks_say(t.s, true);
}

/* How many were told since the last time: this, and nothing else. */
static unsigned told(uint8_t operation, uint64_t clock)
{
    unsigned count = t.count;
    for (unsigned i = 0; i < t.count; i++)
        CHECK(t.said[i].operation == operation && t.said[i].clock == (locus_clock)clock &&
              t.to[i] != 0);
    t.count = 0;
    return count;
}

static const char *hear(unsigned peer, uint8_t operation, locus_clock clock)
{
    const struct wire_entry e = {.operation = operation, .clock = clock};
    const struct arrival a = {.entry = &e, .peer = peer};
    return clocks_entry(t.s, &a);
}

static void advance_all(locus_clock clock)
{
    for (int w = 0; w < WORKERS; w++) t.progress[w] = clock;
}

TEST(clocks, say_nothing_until_somebody_waits)
{
    begin();
    advance_all(5);
    turn();
    CHECK_EQ(t.count, 0);
    CHECK(!clocks_have_news(t.s) && !clocks_hurry(t.s) && !clocks_advanced(t.s->clocks, 6));
    CHECK(!hear(1, WIRE_CLOCK_AWAITED, 3));
    CHECK(clocks_have_news(t.s));
    turn();
    CHECK_EQ(told(WIRE_CLOCK_UPDATED, 5), NODES - 1);
    CHECK(!clocks_have_news(t.s) && clocks_advanced(t.s->clocks, 6));
    t.progress[0] = 6; /* the other one is behind */
    turn();
    CHECK_EQ(t.count, 0);
    end();
}

TEST(clocks, say_leaves_out_workers_that_closed_or_open_again)
{
    locus_clock at;
    begin();
    CHECK(!hear(1, WIRE_CLOCK_AWAITED, 9));
    t.progress[0] = 4;
    t.progress[1] = INT64_MAX;
    turn();
    CHECK_EQ(told(WIRE_CLOCK_UPDATED, 4), NODES - 1);
    CHECK(clocks_last(t.s->clocks, NODES, 0, &at) == 1 && at == 0);
    t.progress[1] = 0; /* it counts when it has passed 4 */
    t.progress[0] = 7;
    turn();
    CHECK_EQ(told(WIRE_CLOCK_UPDATED, 7), NODES - 1);
    t.progress[1] = 7;
    t.progress[0] = 8;
    turn();
    CHECK_EQ(t.count, 0);
    end();
}

/* Nobody waits for it. But its workers may open again, and what was said is not taken back. */
TEST(clocks, of_a_node_without_workers_follow_the_others_until_one_counts_again)
{
    begin();
    CHECK(!hear(1, WIRE_CLOCK_AWAITED, 9));
    advance_all(3);
    turn();
    CHECK_EQ(told(WIRE_CLOCK_UPDATED, 3), NODES - 1);
    advance_all(INT64_MAX);
    turn();
    CHECK_EQ(t.count, 0);
    CHECK(!hear(1, WIRE_CLOCK_UPDATED, 9));
    turn();
    CHECK_EQ(told(WIRE_CLOCK_UPDATED, 9), NODES - 1);
    t.progress[0] = 2; /* open again, and not past 3 */
    CHECK(!hear(1, WIRE_CLOCK_UPDATED, 10));
    turn();
    CHECK_EQ(told(WIRE_CLOCK_UPDATED, 10), NODES - 1);
    t.progress[0] = 3;
    CHECK(!hear(1, WIRE_CLOCK_UPDATED, 15) && !hear(1, WIRE_CLOCK_AWAITED, 15));
    turn();
    CHECK_EQ(t.count, 0);
    CHECK(!clocks_have_news(t.s));
    t.progress[0] = 11;
    CHECK(clocks_have_news(t.s));
    turn();
    CHECK_EQ(told(WIRE_CLOCK_UPDATED, 11), NODES - 1);
    CHECK(hear(1, WIRE_CLOCK_UPDATED, INT64_MAX) != NULL);
    end();
}

/* Its shard may get no processor for as long as its time-out. */
TEST(clocks, say_to_a_peer_that_does_not_read_is_bounded)
{
    enum { CLOCKS = 100000, ENOUGH = 5000 };
    unsigned told_of = 0;
    begin();
    CHECK(!hear(1, WIRE_CLOCK_AWAITED, 1));
    for (locus_clock clock = 1; clock <= CLOCKS; clock++) {
        advance_all(clock);
        turn();
        told_of += told(WIRE_CLOCK_UPDATED, (uint64_t)clock);
    }
    CHECK(told_of < (NODES - 1) * ENOUGH);
    CHECK(!hear(1, WIRE_CLOCK_UPDATED, CLOCKS) && !hear(1, WIRE_CLOCK_FRESH, ENOUGH));
    turn();
    CHECK_EQ(told(WIRE_CLOCK_UPDATED, CLOCKS), 1);
    end();
}
