/* Rows that move between the shards of several nodes: who sends what to whom, in which order things
 * take effect, and what a peer may not send. Delivery is by hand; random storms are the simulator's
 * (test/sim). */
#include "moving.h"
#include "common/stores.h"
#include "test.h"

#include <errno.h>

/* ---- messages ---- */

TEST(relocation, takes_two_messages_when_the_owner_is_known)
{
    CLOSED_BY(world_free) struct world *w = moving_world(3, 1);
    locus_key key = moving_key_at_home(w, 1);
    struct call c = {0};
    moving_run(w, 2, REQUEST_SET, key, 7);
    moving_ask_localize(w, &c, 0, 0, 0, key);
    moving_deliver(w, 0, 1);
    CHECK(!moving_known(w, 1, key).is_here);
    CHECK(!moving_is_done(&c));
    moving_deliver(w, 1, 0);
    CHECK(moving_is_done(&c));
    CHECK(world_is_quiet(w));
    moving_check_rest(w, key, 0, 1);
    CHECK_EQ(w->node[1].shard.counters.relocated_out, 1);
    CHECK_EQ(w->node[0].shard.counters.relocated_in, 1);
    CHECK_EQ(w->node[1].shard.histograms.hops[0], 2); /* of the set, too */
    CHECK_EQ(moving_value_at(w, 0, key), 7);
}

TEST(relocation, goes_by_way_of_the_home_when_the_hint_is_the_home)
{
    CLOSED_BY(world_free) struct world *w = moving_world(3, 2);
    locus_key key = moving_key_at_home(w, 1);
    struct call c = {0};
    moving_run(w, 2, REQUEST_SET, key, 7);
    moving_bring(w, 2, key);
    moving_ask_localize(w, &c, 0, 0, 0, key);
    moving_deliver(w, 0, 1); /* the home sends it on */
    moving_deliver(w, 1, 2);
    moving_deliver(w, 2, 0); /* the row: three messages */
    CHECK(moving_is_done(&c));
    CHECK_EQ(moving_known(w, 1, key).owner, 2);
    moving_deliver(w, 2, 1); /* the news */
    CHECK(world_is_quiet(w));
    moving_check_rest(w, key, 0, 2);
    CHECK_EQ(w->node[1].shard.counters.forwards, 1);
    CHECK_EQ(w->node[2].shard.histograms.hops[1], 1);
    CHECK_EQ(moving_value_at(w, 1, key), 7);
}

TEST(relocation, of_a_row_that_is_here_needs_none)
{
    CLOSED_BY(world_free) struct world *w = moving_world(2, 3);
    struct call c = {0};
    moving_ask_localize(w, &c, 1, 0, 0, moving_key_at_home(w, 1));
    CHECK(moving_is_done(&c));
    CHECK(world_is_quiet(w));
    moving_check_rest(w, moving_key_at_home(w, 1), 1, 0);
}

TEST(relocation, of_a_row_that_was_never_written_carries_no_values)
{
    CLOSED_BY(world_free) struct world *w = moving_world(2, 4);
    locus_key key = moving_key_at_home(w, 1);
    struct call c = {0};
    moving_ask_localize(w, &c, 0, 0, 0, key);
    moving_deliver(w, 0, 1);
    CHECK_EQ(w->link[1][0].frame[w->link[1][0].first].header.body_bytes, wire_entry_bytes(0));
    moving_deliver(w, 1, 0);
    CHECK(moving_is_done(&c));
    CHECK_EQ(store_held_rows(&w->node[0].store), 0);
    CHECK_EQ(moving_value_at(w, 0, key), 0);
    CHECK_EQ(moving_run(w, 1, REQUEST_PUSH, key, 3), 3);
    CHECK_EQ(moving_value_at(w, 0, key), 3);
    moving_check_rest(w, key, 0, 1);
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

/* ---- what cannot be ---- */

TEST(relocation, a_row_that_cannot_be_fails_the_link_with_the_reason)
{
    CLOSED_BY(world_free) struct world *w = moving_world(3, 18);
    locus_key key = moving_key_at_home(w, 1);
    struct call taker = {0};
    moving_ask_localize(w, &taker, 0, 0, 0, key);
    const struct wire_entry row = {.operation = WIRE_ROW,
                                   .flags = WIRE_LOCALIZED,
                                   .origin = 1,
                                   .length = LENGTH,
                                   .tag = request_tag(&taker.request, 0),
                                   .key = key,
                                   .term = 1};
    struct wire_entry wrong = row;
    wrong.tag ^= 1 << REQUEST_ITEM_BITS;
    CHECK_STR(world_receive(w, 0, 1, wrong), "never asked");
    wrong = row;
    wrong.key = moving_key_at_home(w, 2);
    CHECK_STR(world_receive(w, 0, 1, wrong), "something else");
    wrong.key = moving_key_at_home(w, 0);
    CHECK_STR(world_receive(w, 0, 1, wrong), "here already");
    wrong = row;
    wrong.length = LENGTH - 1;
    CHECK_STR(world_receive(w, 0, 1, wrong), "another length");
    wrong = row;
    wrong.owner = 2;
    CHECK_STR(world_receive(w, 0, 1, wrong), "another node");
    wrong = row;
    wrong.term = 0;
    CHECK_STR(world_receive(w, 0, 1, wrong), "passed on");
    wrong.term = UINT64_C(1) << DIRECTORY_TERM_BITS;
    CHECK_STR(world_receive(w, 0, 1, wrong), "no possible term");
    wrong = row;
    wrong.encoding = WIRE_AS_REPLICA;
    wrong.length = 0;
    CHECK_STR(world_receive(w, 0, 1, wrong), "that is our replica");
    wrong = row;
    wrong.flags |= WIRE_HOLDER;
    CHECK_STR(world_receive(w, 0, 1, wrong), "flags of something else");
    wrong.flags = WIRE_LOCALIZED | WIRE_ANSWERS;
    CHECK_STR(world_receive(w, 0, 1, wrong), "flags of something else");
    CHECK(!moving_known(w, 0, key).is_here);
    CHECK(world_receive(w, 0, 1, row) == NULL);
    CHECK(moving_is_done(&taker));
    CHECK_STR(world_receive(w, 0, 1, row), "here already");
}

TEST(relocation, a_row_of_an_ownership_that_has_passed_on_is_refused)
{
    CLOSED_BY(world_free) struct world *w = moving_world(3, 19);
    locus_key key = moving_key_at_home(w, 1);
    struct call taker = {0};
    for (unsigned rank = 2; rank > 0; rank--) moving_bring(w, rank, key); /* term 2 */
    CHECK_EQ(moving_value_at(w, 0, key), 0);                              /* and 0 knows it */
    moving_ask_localize(w, &taker, 0, 0, 0, key);
    struct wire_entry row = {.operation = WIRE_ROW,
                             .flags = WIRE_LOCALIZED,
                             .origin = 1,
                             .tag = request_tag(&taker.request, 0),
                             .key = key};
    for (row.term = 1; row.term <= 2; row.term++)
        CHECK_STR(world_receive(w, 0, 1, row), "passed on");
    CHECK(world_receive(w, 0, 1, row) == NULL);
}

TEST(relocation, news_that_cannot_be_fail_the_link_with_the_reason)
{
    CLOSED_BY(world_free) struct world *w = moving_world(3, 20);
    locus_key here = moving_key_at_home(w, 0), key = moving_key_at_home(w, 1);
    const struct wire_entry news = {
        .operation = WIRE_LOCATION, .owner = 2, .origin = 1, .key = key, .term = 5};
    struct wire_entry wrong = news;
    wrong.owner = 3;
    CHECK_STR(world_receive(w, 0, 1, wrong), "does not exist");
    wrong = news;
    wrong.length = 1;
    CHECK(world_receive(w, 0, 1, wrong) != NULL);
    wrong = news;
    wrong.term = UINT64_C(1) << DIRECTORY_TERM_BITS;
    CHECK_STR(world_receive(w, 0, 1, wrong), "no possible term");
    wrong = news;
    wrong.key = KEYS;
    CHECK_STR(world_receive(w, 0, 1, wrong), "does not exist");
    CHECK_EQ(moving_known(w, 0, key).owner, 1);
    CHECK(world_receive(w, 0, 1, news) == NULL);
    CHECK_EQ(moving_known(w, 0, key).owner, 2);
    wrong = news;
    wrong.key = here; /* whoever says that a row is elsewhere: it is here */
    CHECK(world_receive(w, 0, 1, wrong) == NULL);
    CHECK(moving_known(w, 0, here).is_here);
}

TEST(relocation, a_request_that_cannot_be_fails_the_link_with_the_reason)
{
    CLOSED_BY(world_free) struct world *w = moving_world(3, 21);
    locus_key key = moving_key_at_home(w, 1);
    const struct wire_entry push = {
        .operation = WIRE_PUSH, .owner = 1, .origin = 2, .hops = 1, .key = key, .length = LENGTH};
    struct wire_entry wrong = push;
    for (wrong.length = 0; wrong.length < 8; wrong.length++)
        if (wrong.length != LENGTH) CHECK_STR(world_receive(w, 1, 0, wrong), "another length");
    wrong = push;
    wrong.operation = WIRE_LOCALIZE;
    CHECK_STR(world_receive(w, 1, 0, wrong), "another length");
    wrong = push;
    wrong.origin = 3;
    CHECK_STR(world_receive(w, 1, 0, wrong), "does not exist");
    wrong = push;
    wrong.owner = 3;
    CHECK_STR(world_receive(w, 1, 0, wrong), "does not exist");
    wrong = push;
    wrong.origin = 1; /* ours, which we never sent */
    CHECK_STR(world_receive(w, 1, 0, wrong), "never asked");
    CHECK_EQ(moving_value_at(w, 1, key), 0);
    CHECK(world_receive(w, 1, 0, push) == NULL); /* forwarded: not from its origin */
    CHECK_EQ(w->node[1].shard.histograms.hops[1], 1);
}

/* Two nodes that take each other for the owner would send it to and fro for ever. */
TEST(relocation, a_request_by_an_ownership_that_another_has_fails_the_link)
{
    CLOSED_BY(world_free) struct world *w = moving_world(3, 24);
    locus_key key = moving_key_at_home(w, 1);
    const struct wire_entry news = {
        .operation = WIRE_LOCATION, .owner = 2, .origin = 1, .key = key, .term = 5};
    CHECK(world_receive(w, 0, 1, news) == NULL);
    const struct wire_entry pull = {
        .operation = WIRE_PULL, .owner = 0, .origin = 1, .key = key, .term = 5};
    struct wire_entry other = pull;
    CHECK_STR(world_receive(w, 0, 1, pull), "another node has");
    for (other.term = 4; other.term <= 6; other.term += 2)
        CHECK(world_receive(w, 0, 1, other) == NULL);
    /* the older one was sent on, the younger one waits for the row */
    CHECK_EQ(moving_entries(w, 0, 2), 1);
    CHECK_EQ(w->node[0].shard.records.used - w->node[0].shard.records.free_count, 1);
}

TEST(relocation, more_parked_than_all_credit_allows_fails_the_link)
{
    enum { CREDIT = 1000, NODES_HERE = 3 };
    CLOSED_BY(world_free)
    struct world *w = world_new_moving(NODES_HERE, KEYS, LENGTH, WORKERS, CREDIT, 25);
    locus_key key = moving_key_at_home(w, 1);
    const struct wire_entry push = {
        .operation = WIRE_PUSH, .owner = 0, .origin = 1, .key = key, .term = 5, .length = LENGTH};
    size_t fit = NODES_HERE * NODES_HERE * CREDIT / wire_entry_bytes(LENGTH);
    for (size_t i = 0; i < fit; i++) CHECK(world_receive(w, 0, 1, push) == NULL);
    CHECK_STR(world_receive(w, 0, 1, push), "credit of all nodes");
}
