/* Rows that move: in how many messages, and what travels. Orders of things are the simulations'
 * (test/sim), what a peer may not send is arrival_test's. */
#include "world.h"

#include "common/stores.h"
#include "test.h"

#include <errno.h>

/* At rest: one owner, whose term says how often the row moved; nothing is remembered of requests
 * that are over. */
static void check_rest(struct world *w, locus_key key, unsigned owner, uint64_t term)
{
    CHECK(world_is_quiet(w));
    for (unsigned rank = 0; rank < w->nodes; rank++) {
        struct shard *s = &w->node[rank].shard;
        CHECK_EQ(world_known(w, rank, key).is_here, rank == owner);
        CHECK_EQ(world_records(w, rank), 0);
        CHECK_EQ(s->parked_bytes, 0);
        for (unsigned peer = 0; peer < w->nodes; peer++) CHECK_EQ(s->asked_bytes[peer], 0);
    }
    CHECK_EQ(world_known(w, owner, key).term, term);
    CHECK_EQ(world_known(w, 1, key).owner, owner); /* the home */
    CHECK_EQ(world_known(w, 1, key).term, term);
}

TEST(handover, localize_takes_two_messages_from_the_home_and_three_by_way_of_it)
{
    static struct call c;
    CLOSED_BY(world_free) struct world *w = world_new(LOCUS_RELOCATE, 3);
    locus_key key = world_key(w, 1);
    world_run(w, 2, REQUEST_SET, key, 7);
    world_ask(w, &c, 1, 0, REQUEST_LOCALIZE, key, 0); /* none: it is here */
    CHECK(!c.request.busy);
    check_rest(w, key, 1, 0);
    world_ask(w, &c, 2, 0, REQUEST_LOCALIZE, key, 0);
    world_travel(w, "21");
    CHECK(!world_known(w, 1, key).is_here);
    CHECK(c.request.busy);
    world_travel(w, "12");
    CHECK(!c.request.busy);
    check_rest(w, key, 2, 1);
    world_ask(w, &c, 0, 0, REQUEST_LOCALIZE, key, 0);
    world_travel(w, "0120"); /* the home sends it on */
    CHECK(!c.request.busy);
    CHECK_EQ(world_known(w, 1, key).owner, 2);
    world_travel(w, "21"); /* the news */
    check_rest(w, key, 0, 2);
    CHECK_EQ(w->node[1].shard.counters.relocated_out, 1);
    CHECK_EQ(w->node[0].shard.counters.relocated_in, 1);
    CHECK_EQ(w->node[1].shard.counters.forwards, 1);
    CHECK_EQ(w->node[1].shard.histograms.hops[0], 2); /* of the set, too */
    CHECK_EQ(w->node[2].shard.histograms.hops[1], 1);
    CHECK_EQ(world_run(w, 1, REQUEST_PULL, key, 0), 7);
}

TEST(handover, row_that_was_never_written_travels_without_values)
{
    static struct call c;
    CLOSED_BY(world_free) struct world *w = world_new(LOCUS_RELOCATE, 2);
    locus_key key = world_key(w, 1);
    world_ask(w, &c, 0, 0, REQUEST_LOCALIZE, key, 0);
    world_travel(w, "01");
    CHECK_EQ(w->link[1][0].frame[w->link[1][0].first].header.body_bytes, wire_entry_bytes(0));
    world_travel(w, "10");
    CHECK(!c.request.busy);
    CHECK_EQ(store_held_rows(&w->node[0].store), 0);
    CHECK_EQ(world_run(w, 0, REQUEST_PULL, key, 0), 0);
    world_run(w, 1, REQUEST_PUSH, key, 3);
    CHECK_EQ(world_run(w, 0, REQUEST_PULL, key, 0), 3);
}

/* However often the row has moved: at rest nobody is sent to a node twice. */
TEST(handover, hops_at_rest_are_fewer_than_nodes)
{
    enum { NODES = 4 };
    for (uint64_t seed = 1; seed <= 50; seed++) {
        CLOSED_BY(world_free) struct world *w = world_new(LOCUS_RELOCATE, NODES);
        w->random = 2 * seed + 1;
        locus_key key = world_key(w, (unsigned)world_random(w, NODES));
        for (int i = 0; i < 30; i++) {
            unsigned rank = (unsigned)world_random(w, NODES);
            world_run(w, rank, world_random(w, 3) ? REQUEST_LOCALIZE : REQUEST_PULL, key, 0);
        }
        for (unsigned rank = 0; rank < NODES; rank++)
            for (unsigned hops = NODES - 1; hops < SHARD_HOPS; hops++)
                CHECK_EQ(w->node[rank].shard.histograms.hops[hops], 0);
    }
}

TEST(handover, row_leaves_though_the_link_has_failed)
{
    static struct call c;
    CLOSED_BY(world_free) struct world *w = world_new(LOCUS_RELOCATE, 2);
    locus_key key = world_key(w, 1);
    float row[64]; /* the compiler looks at longer copies, too */
    world_run(w, 1, REQUEST_SET, key, 5);
    world_ask(w, &c, 0, 0, REQUEST_LOCALIZE, key, 0);
    w->link[1][0].cut = true;
    world_travel(w, "01");
    CHECK(!world_known(w, 1, key).is_here);
    CHECK_EQ(row_read(world_ref(w, 1, key), row), -EAGAIN);
}
