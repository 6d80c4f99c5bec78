/* What workers have asked of other nodes: in which order it takes effect, and what bounds it. */
#include "moving.h"
#include "test.h"

#include <errno.h>

/* ---- program order ---- */

TEST(relocation, what_a_worker_asks_of_a_key_waits_for_what_it_asked_before)
{
    struct world *w = moving_world(2, 12);
    locus_key key = moving_key_at_home(w, 1);
    struct call push[2] = {0}, pull = {0}, other = {0};
    moving_ask_push(w, &push[0], 0, 0, 0, key, 1);
    moving_ask_push(w, &push[1], 0, 0, 1, key, 2);
    moving_ask_pull(w, &pull, 0, 0, 2, key);
    CHECK_EQ(moving_entries(w, 0, 1), 1);
    moving_ask_pull(w, &other, 0, 1, 0, key); /* behind them, although another worker's: in order */
    for (int i = 0; i < 2; i++) {
        moving_deliver(w, 0, 1);
        moving_deliver(w, 1, 0);
    }
    CHECK(moving_is_done(&push[0]) && moving_is_done(&push[1]));
    CHECK(!moving_is_done(&pull));
    world_deliver_all(w);
    CHECK_EQ(moving_pulled(&pull), 3);
    CHECK_EQ(moving_pulled(&other), 3);
    moving_check_rest(w, key, 1, 0);
    world_free(w);
}

/* A push is under way to the owner, and another worker's localize behind it: the row comes back
 * with the push in it. */
TEST(relocation, a_row_that_comes_is_not_read_past_an_own_update_under_way)
{
    struct world *w = moving_world(2, 13);
    locus_key key = moving_key_at_home(w, 1);
    struct call push = {0}, taker = {0}, pull = {0};
    moving_ask_push(w, &push, 0, 0, 0, key, 8);
    moving_ask_localize(w, &taker, 0, 1, 0, key);
    moving_ask_pull(w, &pull, 0, 0, 1, key);
    CHECK_EQ(moving_entries(w, 0, 1), 2);
    moving_deliver(w, 0, 1);
    CHECK(!moving_is_done(&pull));
    moving_deliver(w, 1, 0);
    CHECK(moving_is_done(&push) && moving_is_done(&taker));
    CHECK_EQ(moving_pulled(&pull), 8);
    CHECK(world_is_quiet(w));
    moving_check_rest(w, key, 0, 1);
    world_free(w);
}

/* The row is here while an update of ours still runs after it: it must come before anybody here
 * reads. */
TEST(relocation, a_row_that_is_here_waits_for_own_updates_that_run_after_it)
{
    struct world *w = moving_world(3, 23);
    locus_key key = moving_key_at_home(w, 1);
    struct call push = {0}, early = {0}, taker = {0}, again = {0}, pull = {0}, home = {0};
    moving_run(w, 2, REQUEST_SET, key, 10);
    moving_bring(w, 2, key);
    moving_ask_localize(w, &home, 1, 0, 0, key);
    moving_deliver(w, 1, 2); /* the row leaves 2 for 1 */
    moving_ask_push(w, &push, 0, 0, 0, key, 4);
    moving_ask_pull(w, &early, 0, 1, 1, key);
    moving_deliver(w, 0, 1); /* sent on to 2, which has it no more */
    moving_deliver(w, 2, 1);
    CHECK(moving_is_done(&home));
    moving_ask_localize(w, &taker, 0, 3, 0, key);
    moving_deliver(w, 0, 1);
    moving_deliver(w, 1, 0); /* the row is at 0; the push and the early pull are between 1 and 2 */
    CHECK(moving_is_done(&taker) && !moving_is_done(&push));
    moving_ask_pull(w, &pull, 0, 2, 0, key);
    moving_ask_localize(w, &again, 0, 3, 1, key);
    CHECK(!moving_is_done(&pull));
    moving_travel(w, "1210");
    CHECK(moving_is_done(&push) && moving_is_done(&again));
    CHECK_EQ(moving_pulled(&early), 14);
    CHECK_EQ(moving_pulled(&pull), 14);
    CHECK_EQ(w->node[0].shard.histograms.hops[3], 2);
    CHECK(world_is_quiet(w));
    moving_check_rest(w, key, 0, 3);
    world_free(w);
}

/* ---- bounds and losses ---- */

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
    world_free(w);
}

/* An answer gives credit back to one peer, and what waited is to go to another, whose credit is
 * used up. */
TEST(relocation, who_waits_for_credit_is_looked_at_every_turn)
{
    struct world *w = world_new_moving(3, KEYS, LENGTH, WORKERS,
                                       wire_entry_bytes(LENGTH) + wire_entry_bytes(0), 15);
    locus_key key = moving_key_at_home(w, 1), second = moving_key_at_home(w, 2);
    struct call taker = {0}, push = {0}, pull = {0}, other = {0}, late = {0};
    moving_ask_push(w, &push, 0, 0, 0, key, 1);
    moving_ask_pull(w, &pull, 0, 0, 1, key);
    moving_ask_localize(w, &taker, 2, 0, 0, key);
    moving_travel(w, "212");
    moving_deliver(w, 0, 1); /* the push is sent on to 2 */
    moving_deliver(w, 1, 2);
    moving_ask_pull(w, &other, 0, 1, 0, second); /* uses up the credit of 2 */
    moving_deliver(w, 2, 0);                     /* the push's answer: the pull would go to 2 */
    CHECK(moving_is_done(&push));
    CHECK(!moving_is_done(&pull));
    CHECK(w->node[0].shard.stalled != 0);
    CHECK_EQ(moving_entries(w, 0, 2), 1);
    moving_travel(w, "020");
    CHECK(moving_is_done(&other));
    /* There is room now, but not for those who come later. */
    moving_prepare(&late, 2, REQUEST_PULL, second);
    CHECK(!shard_serve(&w->node[0].shard, &late.request));
    shard_turn(&w->node[0].shard, ++w->now_ns);
    CHECK(w->node[0].shard.stalled == 0);
    CHECK(!shard_serve(&w->node[0].shard, &late.request)); /* the pull has taken it */
    world_deliver_all(w);
    CHECK_EQ(moving_pulled(&pull), 1);
    CHECK(shard_serve(&w->node[0].shard, &late.request));
    world_deliver_all(w);
    CHECK(moving_is_done(&late));
    moving_check_rest(w, key, 2, 1);
    world_free(w);
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
    world_free(w);        /* nothing leaks */
}

TEST(relocation, to_a_node_whose_link_has_failed_takes_the_row_away_all_the_same)
{
    struct world *w = moving_world(2, 17);
    locus_key key = moving_key_at_home(w, 1);
    struct call taker = {0};
    float row[64]; /* the compiler looks at longer copies, too */
    moving_run(w, 1, REQUEST_SET, key, 5);
    moving_ask_localize(w, &taker, 0, 0, 0, key);
    w->link[1][0].cut = true;
    moving_deliver(w, 0, 1);
    CHECK(!moving_known(w, 1, key).is_here);
    CHECK_EQ(row_read(store_row_ref(&w->node[1].store, key), row), -EAGAIN);
    world_free(w);
}
