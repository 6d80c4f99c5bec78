/* rounds_test.c - when rounds begin that only synchronize. Time stands but for what the tests let pass. */
#include "world.h"

#include "test.h"

enum { NODES = 2, KEYS = 64, LENGTH = 4 };
#define ROUND_NS UINT64_C(1000)

static struct world *open_world(void)
{
    struct world *w = world_new_managed(LOCUS_FULL_REPLICATION, NODES, KEYS, LENGTH, 1, 1 << 20, 1);
    for (unsigned n = 0; n < NODES; n++) w->node[n].shard.round_ns = ROUND_NS;
    return w;
}

static locus_key key_of_home(struct world *w, unsigned home)
{
    locus_key key = 0;
    while (spot_home(store_spot(&w->node[0].store, key)) != home) key++;
    return key;
}

/* A main copy changes, and its shard has a turn. Returns the rounds that it begins. */
static uint64_t change(struct world *w, unsigned node)
{
    static const float one[LENGTH] = {1};
    struct shard *s = &w->node[node].shard;
    uint64_t before = s->counters.rounds;
    shard_write(s, store_spot(&w->node[node].store, key_of_home(w, node)), one, ROW_ADD);
    shard_turn(s, w->now_ns);
    return s->counters.rounds - before;
}

TEST(rounds, the_governor_counts_the_frames_of_a_round)
{
    struct world *w = open_world();
    w->now_ns = 5000;
    CHECK_EQ(change(w, 0), 1);
    world_deliver_all(w);
    w->now_ns += ROUNDS_GOVERNOR * ROUND_NS - 1;
    CHECK_EQ(change(w, 0), 0);
    w->now_ns++;
    CHECK_EQ(change(w, 0), 1);
    world_deliver_all(w);
    world_free(w);
}

TEST(rounds, the_governor_counts_the_frames_of_rounds_that_it_serves)
{
    struct world *w = open_world();
    w->now_ns = 5000;
    CHECK_EQ(change(w, 0), 1);
    world_deliver_all(w);
    CHECK_EQ(change(w, 1), 1); /* had none of its own before; from now on it pauses for both */
    world_deliver_all(w);
    w->now_ns += 2 * ROUNDS_GOVERNOR * ROUND_NS - 1;
    CHECK_EQ(change(w, 1), 0);
    w->now_ns++;
    CHECK_EQ(change(w, 1), 1);
    world_deliver_all(w);
    world_free(w);
}
