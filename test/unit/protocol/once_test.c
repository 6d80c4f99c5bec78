/* A node is lost that had done writes of others, and had not answered them as far as they heard. */
#include "protocol/once.h"

#include "changes.h"
#include "protocol/loss.h"
#include "test.h"

enum { LOST = 1 };

static void turn_later(struct world *w, unsigned node)
{
    w->now_ns += 200 * WORLD_MS;
    world_turn(w, node);
}

static uint64_t asked_again(const struct world *w)
{
    return w->node[0].shard.counters.asked_again;
}

/* Node 0 has pushed, the lost one has added it, and its answer is under way. */
static locus_key pushed(struct world *w, struct call *push, locus_key key)
{
    *push = (struct call){0};
    world_ask(w, push, 0, 0, REQUEST_PUSH, key, 5);
    world_travel(w, "01");
    CHECK_EQ(world_entries(w, LOST, 0), 1);
    return key;
}

static void check_done_once(struct world *w, const struct call *push, locus_key key)
{
    all_change(w, CHANGE_LOST, LOST);
    CHECK(!push->request.busy);
    CHECK_EQ(asked_again(w), 0);
    CHECK_EQ(w->node[0].shard.once->under_way, 0);
    CHECK_EQ(world_run(w, 0, REQUEST_PULL, key, 0), 5);
}

/* ---- a write that lives on ---- */

TEST(once, write_that_is_in_a_row_that_left_is_not_done_again)
{
    static struct call push, localize;
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    locus_key key = pushed(w, &push, world_key(w, LOST));
    world_ask(w, &localize, 2, 0, REQUEST_LOCALIZE, key, 0);
    world_travel(w, "212");
    CHECK(world_known(w, 2, key).is_here);
    check_done_once(w, &push, key);
}

TEST(once, write_that_is_in_a_replica_is_not_done_again)
{
    static const enum locus_technique techniques[] = {LOCUS_ADAPTIVE, LOCUS_REPLICATE};
    for (int i = 0; i < 2; i++) {
        static struct call push;
        CLOSED_BY(world_free) struct world *w = survivors(techniques[i], 3);
        locus_key key = world_key(w, LOST);
        world_intend(w, LOST, 0, key, 0, 1000);
        world_intend(w, 2, 0, key, 0, 1000);
        world_deliver_all(w);
        CHECK(world_is_replica(w, 2, key));
        pushed(w, &push, key);
        turn_later(w, LOST); /* a refresh */
        world_travel(w, "12");
        check_done_once(w, &push, key);
    }
}

/* It had it without the write, and then with it. */
TEST(once, write_that_is_in_a_save_is_not_done_again)
{
    static struct call push;
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    const struct losses *l = w->node[LOST].shard.losses;
    locus_key key = 0;
    while (row_ref_home(world_ref(w, 0, key)) != LOST || loss_heir(l, world_ref(w, 0, key)) != 2)
        key++;
    pushed(w, &push, key);
    turn_later(w, LOST);
    world_travel(w, "12");
    check_done_once(w, &push, key);
    CHECK_EQ(w->node[2].shard.counters.rows_from_saves, 1);
}

/* The sync that says it does not end the replica, so no third node has the row. */
TEST(once, set_of_a_replica_that_is_to_end_is_done_again)
{
    static struct call set;
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_ADAPTIVE, 3);
    locus_key key = world_key(w, LOST);
    world_intend(w, LOST, 0, key, 0, 1000);
    world_intend(w, 0, 0, key, 0, 1000);
    world_deliver_all(w);
    CHECK(world_is_replica(w, 0, key));
    world_event(w, 0, INTENT_ENDS, key);
    world_ask(w, &set, 0, 0, REQUEST_SET, key, 7);
    turn_later(w, 0);
    world_travel(w, "01");
    CHECK(world_is_replica(w, 0, key) && set.request.busy);
    all_change(w, CHANGE_LOST, LOST);
    CHECK(!set.request.busy && !world_is_replica(w, 0, key));
    CHECK_EQ(world_run(w, 0, REQUEST_PULL, key, 0), 7);
}

/* ---- others ---- */

/* The tag of a write that was answered is that of one that the lost node has not done. */
TEST(once, write_whose_tag_was_another_s_is_done)
{
    static struct call first, second, localize;
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    locus_key key = pushed(w, &first, world_key(w, LOST)), other = key + 1;
    world_travel(w, "10");
    CHECK(!first.request.busy);
    world_ask(w, &localize, 2, 0, REQUEST_LOCALIZE, key, 0);
    world_travel(w, "212");
    while (row_ref_home(world_ref(w, 0, other)) != LOST) other++;
    world_ask(w, &second, 0, 0, REQUEST_PUSH, other, 3);
    CHECK_EQ(request_tag(&first.request, 0), request_tag(&second.request, 0));
    all_change(w, CHANGE_LOST, LOST);
    CHECK(!second.request.busy);
    CHECK_EQ(asked_again(w), 1);
    CHECK_EQ(world_run(w, 0, REQUEST_PULL, other, 0), 3);
    CHECK_EQ(world_run(w, 0, REQUEST_PULL, key, 0), 5);
}

/* And not to who asked. */
TEST(once, each_note_is_told_to_each_third_node_once)
{
    static struct call push, localize[4];
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    const struct notes *of = w->node[2].shard.once->of;
    locus_key key[4] = {world_key(w, LOST)};
    for (int i = 1; i < 4; i++) {
        key[i] = key[i - 1] + 1;
        while (row_ref_home(world_ref(w, 0, key[i])) != LOST) key[i]++;
    }
    pushed(w, &push, key[1]);
    /* first the answer and a row */
    static const unsigned asks[] = {0, 2, 2, 2}, entries[] = {2, 2, 1, 2}, notes[] = {0, 1, 1, 2};
    for (unsigned i = 0; i < 4; i++) {
        unsigned n = asks[i];
        if (i == 3) world_run(w, 0, REQUEST_PUSH, key[3], 1);
        world_ask(w, &localize[i], n, i + 1, REQUEST_LOCALIZE, key[i], 0);
        world_travel(w, n ? "21" : "01");
        CHECK_EQ(world_entries(w, LOST, n), entries[i]);
        world_deliver_all(w);
        CHECK_EQ(of[LOST * 3 + 0].count, notes[i]);
    }
    CHECK_EQ(of[LOST * 3 + 2].count, 0);
    CHECK_EQ(once_of(&w->node[0].shard, LOST, 0)->count, 2);
}

TEST(once, no_more_writes_are_under_way_than_notes_are_kept)
{
    static struct call first, second, pull;
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    struct shard *s = &w->node[0].shard;
    locus_key key = world_key(w, LOST), other = world_key(w, 2);
    s->once->under_way = ONCE_WRITES_MAX - 1;
    world_ask(w, &first, 0, 0, REQUEST_PUSH, key, 1);
    second.item = (struct request_item){.key = other, .values = second.values};
    world_request(&second.request, 1, REQUEST_PUSH, &second.item, 1);
    CHECK(!shard_serve(s, &second.request));
    world_ask(w, &pull, 0, 2, REQUEST_PULL, other, 0);
    world_deliver_all(w);
    CHECK(!first.request.busy && !pull.request.busy);
    CHECK(shard_serve(s, &second.request));
    world_deliver_all(w);
    CHECK(!second.request.busy);
    CHECK_EQ(s->once->under_way, ONCE_WRITES_MAX - 1);
}

TEST(once, notes_that_cannot_be_are_refused)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    CLOSED_BY(world_free) struct world *ends = world_new(LOCUS_RELOCATE, 3);
    static struct call pull;
    struct wire_entry told = {.operation = WIRE_TOLD, .owner = LOST, .origin = 2, .length = 1};
    CHECK_STR(world_receive(ends, 0, 2, told), "no loss is survived");
    CHECK(!world_receive(w, 0, 2, told));
    told.flags = WIRE_BEGIN;
    CHECK_STR(world_receive(w, 0, 2, told), "that was not lost");
    world_change(w, CHANGE_LOST, LOST);
    world_hear(w, 0);
    CHECK(!world_receive(w, 0, 2, told)); /* another one may have told it */
    world_request(&pull.request, 0, REQUEST_PULL, &pull.item, 1);
    *shard_active(&w->node[0].shard, 0, 0) = &pull.request;
    pull.request.generation = 0;
    pull.request.sent = 1;
    pull.item.state = ITEM_ASKED;
    CHECK_STR(world_receive(w, 0, 2, told), "a write that is none");
    told.length = 0;
    CHECK_STR(world_receive(w, 0, 2, told), "another length");
    told.owner = 0;
    CHECK_STR(world_receive(w, 0, 2, told), "another length");
}
