/* rounds_test.c - when rounds begin that only synchronize. Time stands but for what the tests let pass. */
#include "world.h"

#include "test.h"

enum { NODES = 2, KEYS = 64, LENGTH = 4, LONG = 64 };
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
    static const float one[LONG] = {1};
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

enum { KEYS_A_NODE = 650 };

/* All main copies of node 0 change, and its shard has a turn. */
static struct world *change_all(unsigned nodes)
{
    static const float ones[LONG] = {1};
    struct world *w = world_new_managed(LOCUS_FULL_REPLICATION, nodes, nodes * KEYS_A_NODE, LONG, 1, 1 << 20, 1);
    w->node[0].shard.round_ns = ROUND_NS;
    for (locus_key key = 0; key < nodes * KEYS_A_NODE; key++) {
        struct spot spot = store_spot(&w->node[0].store, key);
        if (spot_home(spot) == 0) shard_write(&w->node[0].shard, spot, ones, ROW_ADD);
    }
    shard_turn(&w->node[0].shard, w->now_ns);
    return w;
}

static size_t bytes_to(const struct world *w, unsigned peer)
{
    const struct world_link *l = &w->link[0][peer];
    size_t bytes = 0;
    for (unsigned i = 0; i < l->count; i++) bytes += l->frame[(l->first + i) % WORLD_FRAMES_MAX].header.body_bytes;
    return bytes;
}

/* What is left goes on without the governor. */
TEST(rounds, are_the_smaller_the_more_nodes_there_are)
{
    const size_t all = KEYS_A_NODE * wire_entry_bytes(LONG), room = ROUNDS_BYTES_MAX / 9;
    struct world *w = change_all(4);
    CHECK(all > 1.4 * (double)room && all < 1.8 * (double)room); /* two rounds, wherever the homes are */
    for (unsigned peer = 1; peer < 4; peer++) {
        CHECK(bytes_to(w, peer) >= room);
        CHECK(bytes_to(w, peer) <= room + 2 * wire_entry_bytes(LONG));
    }
    world_deliver_all(w);
    shard_turn(&w->node[0].shard, w->now_ns);
    CHECK_EQ(w->node[0].shard.counters.rounds, 6);
    world_deliver_all(w);
    shard_turn(&w->node[0].shard, w->now_ns);
    CHECK(world_is_quiet(w));
    world_free(w);
}

TEST(rounds, that_go_on_count_for_the_governor)
{
    struct world *w = change_all(4);
    world_deliver_all(w);
    shard_turn(&w->node[0].shard, w->now_ns);
    CHECK_EQ(w->node[0].shard.counters.rounds, 6);
    world_deliver_all(w);
    w->now_ns += ROUNDS_GOVERNOR * 3 * ROUND_NS;
    CHECK_EQ(change(w, 0), 3);
    world_deliver_all(w);
    w->now_ns += ROUNDS_GOVERNOR * 6 * ROUND_NS - 1;
    CHECK_EQ(change(w, 0), 0);
    w->now_ns++;
    CHECK_EQ(change(w, 0), 3);
    world_deliver_all(w);
    world_free(w);
}

TEST(rounds, between_two_nodes_are_large)
{
    struct world *w = change_all(2);
    CHECK(bytes_to(w, 1) > ROUNDS_BYTES_MAX / 9);
    world_deliver_all(w);
    shard_turn(&w->node[0].shard, w->now_ns);
    CHECK(world_is_quiet(w));
    CHECK_EQ(w->node[0].shard.counters.rounds, 1);
    world_free(w);
}
