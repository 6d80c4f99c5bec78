/* What workers have asked of other nodes: what bounds it, and when nodes are lost. In which order it
 * takes effect: the simulator (test/sim). */
#include "moving.h"
#include "test.h"

#include <errno.h>

TEST(relocation, who_waits_for_a_key_goes_on_when_there_is_credit_again)
{
    struct world *w = world_new_moving(2, KEYS, LENGTH, WORKERS,
                                       wire_entry_bytes(LENGTH) + wire_entry_bytes(0), 14);
    locus_key key = moving_key_at_home(w, 1), second = key + 1;
    while (row_ref_home(store_row_ref(&w->node[0].store, second)) != 1) second++;
    struct call push = {0}, pull = {0}, other = {0};
    moving_ask_push(w, &push, 0, 0, 0, key, 1);
    moving_ask_pull(w, &pull, 0, 0, 1, key); /* waits for the push */
    moving_deliver(w, 0, 1);
    CHECK_EQ(w->node[0].shard.asked_bytes[1], w->node[0].shard.credit_bytes);
    moving_prepare(&other, 1, REQUEST_PULL, second);
    CHECK(!shard_serve(&w->node[0].shard, &other.request)); /* no room */
    moving_deliver(w, 1, 0);                                /* room, and the pull takes it */
    CHECK(moving_is_done(&push));
    CHECK(!shard_serve(&w->node[0].shard, &other.request));
    world_deliver_all(w);
    CHECK_EQ(moving_pulled(&pull), 1);
    CHECK(shard_serve(&w->node[0].shard, &other.request));
    world_deliver_all(w);
    CHECK(moving_is_done(&other));
    moving_check_rest(w, key, 1, 0);
    world_free(&w);
}

TEST(relocation, a_lost_node_ends_what_waits_and_what_is_parked)
{
    struct world *w = moving_world(3, 16);
    locus_key key = moving_key_at_home(w, 1);
    struct call taker = {0}, waits = {0}, parked = {0};
    moving_begin_slowly(w, key, &taker);
    moving_ask_pull(w, &waits, 0, 1, 0, key);
    moving_ask_pull(w, &parked, 1, 0, 0, key);
    moving_deliver(w, 1, 0);
    for (unsigned rank = 0; rank < 2; rank++) shard_fail(&w->node[rank].shard, -ECONNRESET);
    CHECK(moving_is_done(&taker) && moving_is_done(&waits) && moving_is_done(&parked));
    CHECK_EQ(w->node[0].last_rc, -ECONNRESET);
    world_deliver_all(w); /* the row comes, and nobody is there */
    world_free(&w);       /* nothing leaks */
}

TEST(relocation, to_a_node_whose_link_has_failed_takes_the_row_away_all_the_same)
{
    CLOSED_BY(world_free) struct world *w = moving_world(2, 17);
    locus_key key = moving_key_at_home(w, 1);
    struct call taker = {0};
    float row[64]; /* the compiler looks at longer copies, too */
    moving_run(w, 1, REQUEST_SET, key, 5);
    moving_ask_localize(w, &taker, 0, 0, 0, key);
    w->link[1][0].cut = true;
    moving_deliver(w, 0, 1);
    CHECK(!moving_known(w, 1, key).is_here);
    CHECK_EQ(row_read(store_row_ref(&w->node[1].store, key), row), -EAGAIN);
}
