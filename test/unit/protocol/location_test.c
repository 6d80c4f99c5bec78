/* Where a row is, as a node knows it: hints, and the news that mend them. */
#include "moving.h"
#include "test.h"

#include <errno.h>

/* ---- hints ---- */

/* Node 0 knows an owner of long ago; each node on the way knows the next one. */
TEST(relocation, a_chain_of_stale_hints_leads_to_the_owner)
{
    CLOSED_BY(world_free) struct world *w = moving_world(NODES, 5);
    locus_key key = moving_key_at_home(w, 3);
    moving_run(w, 3, REQUEST_SET, key, 9);
    moving_bring(w, 1, key);
    CHECK_EQ(moving_value_at(w, 0, key), 9);
    CHECK_EQ(moving_known(w, 0, key).owner, 1); /* learned from the answer */
    moving_bring(w, 2, key);
    moving_bring(w, 3, key);
    CHECK_EQ(moving_known(w, 0, key).owner, 1);
    CHECK_EQ(moving_known(w, 1, key).owner, 2);
    CHECK_EQ(moving_known(w, 2, key).owner, 3);
    CHECK_EQ(moving_value_at(w, 0, key), 9);
    CHECK_EQ(w->node[3].shard.histograms.hops[2], 1);
    CHECK_EQ(moving_known(w, 0, key).owner, 3);
    moving_check_rest(w, key, 3, 3);
}

/* However often the row has moved: at rest nobody is sent to a node twice. */
TEST(relocation, hops_at_rest_are_fewer_than_nodes)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct world *w = moving_world(NODES, seed);
        locus_key key = moving_key_at_home(w, (unsigned)world_random(w, NODES));
        for (int i = 0; i < 30; i++) {
            unsigned rank = (unsigned)world_random(w, NODES);
            moving_run(w, rank, world_random(w, 3) ? REQUEST_LOCALIZE : REQUEST_PULL, key, 0);
        }
        for (unsigned rank = 0; rank < NODES; rank++)
            for (unsigned hops = NODES - 1; hops < SHARD_HOPS; hops++)
                CHECK_EQ(w->node[rank].shard.histograms.hops[hops], 0);
        world_free(&w);
    }
}
