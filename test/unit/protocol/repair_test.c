/* A node is lost: what becomes of each row, and of what was under way. Orders of things are the
 * last test's, and the simulations'. */
#include "protocol/repair.h"

#include "changes.h"
#include "protocol/clocks.h"
#include "protocol/loss.h"
#include "test.h"

static void change(struct world *w, unsigned node, uint32_t view, enum change_kind kind,
                   unsigned whom)
{
    repair_begin(&w->node[node].shard, (struct change){view, kind, whom});
}

static void begin(struct world *w, unsigned node, uint32_t view, unsigned lost)
{
    change(w, node, view, CHANGE_LOST, lost);
}

static void lose(struct world *w, uint32_t view, unsigned lost)
{
    all_change(w, CHANGE_LOST, lost);
    CHECK_EQ(w->changes, view);
}

static uint64_t counted(const struct world *w, size_t counter)
{
    uint64_t sum = 0;
    for (unsigned n = 0; n < w->nodes; n++)
        if (!w->is_lost[n])
            sum += *(const uint64_t *)((const char *)&w->node[n].shard.counters + counter);
    return sum;
}

static uint64_t asked_again(const struct world *w)
{
    return counted(w, offsetof(struct shard_counters, asked_again));
}

static uint64_t from_replicas(const struct world *w)
{
    return counted(w, offsetof(struct shard_counters, rows_from_replicas));
}

static uint64_t from_saves(const struct world *w)
{
    return counted(w, offsetof(struct shard_counters, rows_from_saves));
}

static bool is_home_of(const struct world *w, unsigned node, locus_key key)
{
    return row_ref_home(world_ref(w, node, key)) == node;
}

/* Which node that lives is at home to the key, in the view of all. */
static unsigned home_of(const struct world *w, locus_key key)
{
    unsigned home = WORLD_NODES_MAX;
    for (unsigned n = 0; n < w->nodes; n++) {
        if (w->is_lost[n] || !is_home_of(w, n, key)) continue;
        CHECK_EQ(home, WORLD_NODES_MAX);
        home = n;
    }
    CHECK(home < WORLD_NODES_MAX);
    return home;
}

/* ---- a node leaves ---- */

/* Of all the last: it serves until the others ask nothing more. */
static void leave(struct world *w, uint32_t view, unsigned leaver)
{
    for (unsigned n = 0; n < w->nodes; n++) change(w, n, view, CHANGE_LEAVES, leaver);
    finish(w);
    for (unsigned n = 0; n < w->nodes; n++) CHECK_EQ(w->node[n].repaired, view);
    CHECK(repair_has_left(&w->node[leaver].shard));
    w->is_lost[leaver] = true;
}

TEST(repair, rows_of_who_leaves_are_as_they_were_and_requests_under_way_are_served_once)
{
    static const enum locus_technique techniques[] = {LOCUS_ADAPTIVE, LOCUS_RELOCATE,
                                                      LOCUS_REPLICATE};
    for (unsigned t = 0; t < 3; t++) {
        CLOSED_BY(world_free) struct world *w = survivors(techniques[t], 3);
        locus_key at_home = world_key(w, 1), never = world_key(w, 2);
        world_run(w, 1, REQUEST_SET, at_home, 7);
        CHECK_EQ(world_run(w, 0, REQUEST_PUSH, at_home, 2), 0);
        leave(w, 1, 1);
        CHECK_EQ(world_run(w, 2, REQUEST_PULL, at_home, 0), 9);
        CHECK_EQ(world_run(w, 0, REQUEST_PULL, never, 0), 0);
        CHECK(world_owner(w, at_home) != 1);
        CHECK_EQ(counted(w, offsetof(struct shard_counters, rows_handed_over)), 1);
        CHECK_EQ(from_saves(w) + from_replicas(w), 0); /* nothing is lost */
        CHECK_EQ(asked_again(w), 0);
        CHECK_EQ(counted(w, offsetof(struct shard_counters, rows_lost)), 0);
    }
}

/* Who has its word that all is said needs nothing more of it; the others have a loss. */
TEST(repair, who_is_lost_while_it_leaves_is_a_loss)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    locus_key key = world_key(w, 1);
    world_run(w, 1, REQUEST_SET, key, 7);
    finish(w); /* it is saved */
    change(w, 0, 1, CHANGE_LEAVES, 1);
    change(w, 2, 1, CHANGE_LEAVES, 1);
    finish(w);
    CHECK(!repair_is_over(&w->node[0].shard) && !repair_is_over(&w->node[2].shard));
    world_lose(w, 1);
    change(w, 0, 1, CHANGE_LOST, 1);
    change(w, 2, 1, CHANGE_LOST, 1);
    finish(w);
    CHECK(repair_is_over(&w->node[0].shard) && repair_is_over(&w->node[2].shard));
    CHECK_EQ(world_run(w, 2, REQUEST_PULL, key, 0), 7);
    change(w, 0, 1, CHANGE_LOST, 1); /* it is over */
    CHECK(repair_is_over(&w->node[0].shard));
}

/* ---- rows ---- */

/* Nothing has been saved yet. */
TEST(repair, row_that_only_the_lost_node_had_is_what_who_gave_it_kept_or_zeros)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    locus_key own = world_key(w, 0), other = world_key(w, 1);
    world_run(w, 1, REQUEST_SET, own, 7);
    world_run(w, 1, REQUEST_LOCALIZE, own, 0);
    world_run(w, 1, REQUEST_SET, other, 7);
    world_run(w, 2, REQUEST_PULL, other, 0);
    lose(w, 1, 1);
    CHECK_EQ(world_owner(w, own), 0);
    CHECK_EQ(world_owner(w, other), home_of(w, other));
    struct row_ref ref = world_ref(w, 0, own);
    CHECK_EQ(directory_slot(row_word(ref)), row_ref_computed_slot(ref)); /* it was kept there */
    CHECK_EQ(world_run(w, 2, REQUEST_PULL, own, 0), 7);
    CHECK_EQ(world_run(w, 2, REQUEST_PULL, other, 0), 0);
    CHECK_EQ(from_saves(w), 1);
    world_run(w, 0, REQUEST_SET, own, 0);
    for (locus_key key = 0; key < WORLD_KEYS; key++) {
        unsigned home = home_of(w, key);
        CHECK_EQ(world_owner(w, key), home);
        CHECK(row_ref_was_held(world_ref(w, home, key)));
        CHECK_EQ(row_add(world_ref(w, home, key), world_ones), 0);
        CHECK_EQ(world_run(w, 0, REQUEST_PULL, key, 0), 1);
        CHECK_EQ(world_run(w, 2, REQUEST_LOCALIZE, key, 0), 0);
        CHECK_EQ(world_run(w, 0, REQUEST_PULL, key, 0), 1);
    }
}

/* Nodes 0 and 2 have replicas of a row of node 1, and 2 the last version. */
static struct world *replicas_of(enum locus_technique technique, unsigned nodes, locus_key *key)
{
    struct world *w = survivors(technique, nodes);
    *key = world_key(w, 1);
    world_run(w, 1, REQUEST_SET, *key, 10);
    world_intend(w, 1, 0, *key, 0, 1000);
    for (unsigned n = 0; n < 3; n += 2) world_intend(w, n, 0, *key, 0, 1000);
    world_deliver_all(w);
    CHECK(world_is_replica(w, 0, *key) && world_is_replica(w, 2, *key));
    CHECK_EQ(row_add(world_ref(w, 1, *key), world_ones), 0);
    w->now_ns += 100 * WORLD_MS;
    world_turn(w, 1);
    world_travel(w, "12");
    return w;
}

static struct world *replicas(enum locus_technique technique, locus_key *key)
{
    return replicas_of(technique, 3, key);
}

/* The home that was to decide about it, or another node, is lost: they are offered anew. */
TEST(repair, replica_becomes_the_row_though_another_loss_overtakes_the_repair)
{
    for (unsigned second = 0; second < 2; second++) {
        locus_key key;
        CLOSED_BY(world_free) struct world *w = replicas_of(LOCUS_ADAPTIVE, 4, &key);
        for (unsigned n = 0; n < 3; n += 2)
            CHECK_EQ(row_add(world_ref(w, n, key), world_ones), ROW_ON_REPLICA);
        world_change(w, CHANGE_LOST, 1);
        for (unsigned n = 0; n < 4; n++)
            if (second == 0 && !w->is_lost[n]) world_hear(w, n);
        if (second == 0) world_deliver_all(w);
        all_change(w, CHANGE_LOST, 3);
        CHECK_EQ(from_replicas(w), 1);
        CHECK_EQ(world_value(w, world_owner(w, key), key), 13);
    }
}

/* Its answer went down with it; another node has its save, and has heard that it has left. */
TEST(repair, write_of_who_leaves_is_done_once_though_it_is_lost_to_its_origin)
{
    static struct call push;
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    locus_key key = 0;
    while (!(is_home_of(w, 1, key) && guardian_of(w, 1, key) == 2)) key++;
    world_run(w, 1, REQUEST_SET, key, 7);
    finish(w);
    world_ask(w, &push, 0, 0, REQUEST_PUSH, key, 1);
    world_travel(w, "01");
    for (unsigned n = 0; n < 3; n++) change(w, n, 1, CHANGE_LEAVES, 1);
    for (int i = 0; i < 30; i++) {
        static const unsigned links[][2] = {{0, 1}, {2, 1}, {1, 2}, {0, 2}, {2, 0}};
        w->now_ns += 10 * WORLD_MS;
        for (unsigned n = 0; n < 3; n++) shard_turn(&w->node[n].shard, w->now_ns);
        for (unsigned k = 0; k < 5; k++)
            for (const char *why; world_deliver(w, links[k][0], links[k][1], &why);) CHECK(!why);
    }
    CHECK(loss_has_left(w->node[2].shard.losses) && !loss_has_left(w->node[0].shard.losses));
    world_lose(w, 1);
    change(w, 0, 1, CHANGE_LOST, 1);
    change(w, 2, 1, CHANGE_LOST, 1);
    finish(w);
    CHECK(!push.request.busy);
    CHECK_EQ(world_run(w, 2, REQUEST_PULL, key, 0), 8);
}

TEST(repair, best_replica_becomes_the_row_and_others_say_what_they_added)
{
    static const enum locus_technique techniques[] = {LOCUS_ADAPTIVE, LOCUS_REPLICATE};
    for (int i = 0; i < 2; i++) {
        locus_key key;
        CLOSED_BY(world_free) struct world *w = replicas(techniques[i], &key);
        uint64_t before = w->node[0].shard.replicas->source[1].replicas;
        for (unsigned n = 0; n < 3; n += 2)
            CHECK_EQ(row_add(world_ref(w, n, key), world_ones), ROW_ON_REPLICA);
        CHECK_EQ(before, 1);
        lose(w, 1, 1);
        CHECK_EQ(from_replicas(w), 1);
        CHECK_EQ(world_owner(w, key), 2);
        CHECK_EQ(world_value(w, 2, key), 10 + 1 + 2);
        CHECK(world_is_replica(w, 0, key));
        CHECK_EQ(world_value(w, 0, key), 10 + 1 + 2);
        CHECK_EQ(w->node[0].shard.replicas->orphans, 0);
        CHECK_EQ(w->node[0].shard.replicas->source[1].replicas, 0);
        CHECK_EQ(row_add(world_ref(w, 0, key), world_ones), ROW_ON_REPLICA);
        finish(w);
        CHECK_EQ(world_value(w, 2, key), 14);
    }
}

/* Its update was under way, so a version that has it is nowhere. */
TEST(repair, replica_that_nobody_wants_any_more_still_says_what_it_added)
{
    locus_key key;
    CLOSED_BY(world_free) struct world *w = replicas(LOCUS_ADAPTIVE, &key);
    CHECK_EQ(row_add(world_ref(w, 0, key), world_ones), ROW_ON_REPLICA);
    w->now_ns += 100 * WORLD_MS;
    world_turn(w, 0); /* its update leaves, and is lost */
    CHECK_EQ(row_add(world_ref(w, 0, key), world_ones), ROW_ON_REPLICA);
    w->node[0].clock[0] = 1000;
    world_turn(w, 0);
    lose(w, 1, 1);
    CHECK_EQ(world_owner(w, key), 2);
    CHECK_EQ(world_value(w, 2, key), 10 + 1 + 1);
    CHECK(!world_is_replica(w, 0, key));
    CHECK_EQ(world_records(w, 0), 0);
}

/* What the owner had of it was zeros, and so has the replica at node 0, which is as new. */
TEST(repair, replica_with_an_update_of_its_own_is_more_than_one_of_zeros)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_ADAPTIVE, 3);
    locus_key key = world_key(w, 1);
    for (unsigned n = 0; n < 3; n++) world_intend(w, n, 0, key, 0, 1000);
    world_deliver_all(w);
    CHECK(world_is_replica(w, 0, key) && world_is_replica(w, 2, key));
    CHECK_EQ(row_add(world_ref(w, 2, key), world_ones), ROW_ON_REPLICA);
    w->now_ns += 100 * WORLD_MS;
    world_turn(w, 2); /* as far as this */
    CHECK_EQ(world_entries(w, 2, 1) > 0, true);
    CHECK_EQ(row_add(world_ref(w, 2, key), world_ones), ROW_ON_REPLICA);
    lose(w, 1, 1);
    CHECK_EQ(world_owner(w, key), 2);
    CHECK_EQ(world_value(w, 0, key), 2);
    CHECK_EQ(world_value(w, 2, key), 2);
}

/* The version that a push waits for was of the lost owner's counting. */
TEST(repair, push_that_its_replica_lacks_is_done)
{
    static struct call push;
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_ADAPTIVE, 3);
    locus_key key = world_key(w, 1);
    world_intend(w, 1, 0, key, 0, 1000);
    world_intend(w, 0, 0, key, 0, 1000);
    world_ask(w, &push, 0, 0, REQUEST_PUSH, key, 1);
    world_travel(w, "01");
    world_intend(w, 2, 0, key, 0, 1000);
    world_travel(w, "212"); /* with the push */
    world_travel(w, "10");  /* without it */
    CHECK(world_is_replica(w, 0, key) && push.request.busy);
    lose(w, 1, 1);
    CHECK(!push.request.busy);
}

TEST(repair, rows_of_one_home_are_claimed_together)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    unsigned rows = 0;
    for (locus_key key = 0; key < WORLD_KEYS; key++) {
        if (!is_home_of(w, 0, key)) continue;
        world_run(w, 0, REQUEST_SET, key, 7);
        world_run(w, 2, REQUEST_LOCALIZE, key, 0);
        rows++;
    }
    CHECK(rows > 10);
    world_lose(w, 1);
    begin(w, 2, 1, 1);
    CHECK_EQ(world_entries(w, 2, 0), 2); /* and the marker */
    begin(w, 0, 1, 1);
    finish(w);
    for (locus_key key = 0; key < WORLD_KEYS; key++) {
        if (world_known(w, 2, key).term == 0) continue;
        CHECK_EQ(world_owner(w, key), 2);
        CHECK_EQ(world_known(w, 0, key).owner, 2);
        CHECK_EQ(world_run(w, 0, REQUEST_PULL, key, 0), 7);
        rows--;
    }
    CHECK_EQ(rows, 0);
}

/* ---- one after the other ---- */

TEST(repair, second_loss_is_repaired_as_the_first_and_the_last_node_goes_on_alone)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_ADAPTIVE, 4);
    for (locus_key key = 0; key < WORLD_KEYS; key++) {
        world_run(w, 0, REQUEST_PUSH, key, 1);
        if (key % 2 == 0) world_run(w, 2 + key % 4 / 2, REQUEST_LOCALIZE, key, 0);
    }
    for (uint32_t view = 1; view < 4; view++) {
        int right = 0;
        finish(w); /* all is saved */
        lose(w, view, 4 - view);
        for (locus_key key = 0; key < WORLD_KEYS; key++) {
            CHECK_EQ(home_of(w, key), row_ref_home(world_ref(w, 0, key)));
            right += world_run(w, 0, REQUEST_PULL, key, 0);
            world_run(w, 0, REQUEST_SET, key, 1);
        }
        CHECK_EQ(right, WORLD_KEYS);
    }
    CHECK_EQ(world_run(w, 0, REQUEST_PULL, 3, 0), 1);
}

/* Until it is repaired, and no orphan has said anything. */
static void lose_just_now(struct world *w, uint32_t view, unsigned lost)
{
    world_change(w, CHANGE_LOST, lost);
    CHECK_EQ(w->changes, view);
    for (unsigned n = 0; n < w->nodes; n++)
        if (!w->is_lost[n]) world_hear(w, n);
    for (int i = 0; i < 3; i++) {
        world_deliver_all(w);
        for (unsigned n = 0; n < w->nodes; n++)
            if (!w->is_lost[n]) shard_turn(&w->node[n].shard, w->now_ns);
    }
}

/* Of keys of node 1, then 3, then 2: node 0 has the row, and says so to node 2, which has an orphan. */
TEST(repair, orphan_at_the_home_to_be_learns_who_has_the_row)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_ADAPTIVE, 4);
    bool was_its[WORLD_KEYS] = {false};
    unsigned found = 0;
    for (locus_key key = 0; key < WORLD_KEYS; key++) {
        if (!is_home_of(w, 1, key)) continue;
        world_run(w, 1, REQUEST_SET, key, 10);
        for (unsigned n = 0; n < 4; n++) world_intend(w, n, 0, key, 0, 1000);
    }
    world_deliver_all(w);
    lose_just_now(w, 1, 1);
    for (locus_key key = 0; key < WORLD_KEYS; key++)
        was_its[key] = world_is_replica(w, 2, key) && home_of(w, key) == 3 &&
                       world_owner(w, key) == 0;
    lose_just_now(w, 2, 3);
    for (locus_key key = 0; key < WORLD_KEYS; key++) {
        if (!was_its[key] || home_of(w, key) != 2) continue;
        CHECK_EQ(world_owner(w, key), 0);
        found++;
    }
    CHECK(found > 0);
}

/* ---- bounds and quiesce ---- */

TEST(repair, lost_node_holds_no_clock_up_and_an_orphan_does)
{
    locus_key key;
    CLOSED_BY(world_free) struct world *w = replicas(LOCUS_ADAPTIVE, &key);
    struct clocks *c = w->node[0].shard.clocks;
    c->is_on = true;
    c->peer[0].updated = 5;
    c->peer[2] = (struct clock_peer){.updated = 5, .fresh = 5, .said = 5, .told = 5};
    lose_just_now(w, 1, 1);
    CHECK_EQ(w->node[0].shard.replicas->orphans, 1);
    CHECK_EQ(clocks_gate(c), 0);
    finish(w);
    CHECK_EQ(w->node[0].shard.replicas->orphans, 0);
    CHECK_EQ(clocks_gate(c), 5);
}

TEST(repair, quiesce_that_waits_for_the_lost_node_ends)
{
    static struct request flush;
    locus_key key;
    CLOSED_BY(world_free) struct world *w = replicas(LOCUS_ADAPTIVE, &key);
    CHECK_EQ(row_add(world_ref(w, 0, key), world_ones), ROW_ON_REPLICA);
    world_request(&flush, 0, REQUEST_FLUSH_UPDATES, NULL, 0);
    CHECK(shard_serve(&w->node[0].shard, &flush));
    world_turn(w, 0);
    CHECK(flush.busy);
    lose(w, 1, 1);
    CHECK(!flush.busy);
}

/* ---- what peers may say ---- */

TEST(repair, markers_out_of_order_are_refused)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_ADAPTIVE, 3);
    CLOSED_BY(world_free) struct world *ends = world_new(LOCUS_ADAPTIVE, 3);
    struct wire_entry marker = {.operation = WIRE_REPAIR, .owner = 2, .origin = 2, .round = 1},
                      held = {.operation = WIRE_HELD, .owner = 2, .key = world_key(w, 1)},
                      offer = {.operation = WIRE_OFFER, .owner = 1, .origin = 2};
    static const char *const order = "a marker of a repair out of its order";
    marker.clock = 2;
    CHECK_STR(world_receive(w, 0, 2, marker), order);
    marker.clock = 1;
    CHECK_STR(world_receive(ends, 0, 2, marker), "a loss that ends the job");
    CHECK_STR(world_receive(ends, 0, 2, offer), "a loss that ends the job");
    CHECK_STR(world_receive(w, 0, 2, held), "no node was lost");
    CHECK(!world_receive(w, 0, 2, offer));
    CHECK(!world_receive(w, 0, 2, marker));
    CHECK_STR(world_receive(w, 0, 2, marker), order);
    world_lose(w, 1);
    begin(w, 0, 1, 1);
    CHECK_STR(world_receive(w, 0, 2, held), "never asked");
    held.flags = WIRE_BEGIN;
    CHECK_STR(world_receive(w, 0, 2, held), "never sent");
    marker.round = 3;
    CHECK_STR(world_receive(w, 0, 2, marker), order);
    marker.round = 2;
    marker.clock = 2;
    CHECK_STR(world_receive(w, 0, 2, marker), order);
    marker.round = CHANGES_MAX + 1;
    CHECK_STR(world_receive(w, 0, 2, marker), "no possible repair");
    marker.round = 2;
    marker.clock = 1;
    CHECK(!world_receive(w, 0, 2, marker)); /* another change has overtaken the first */
}

/* ---- any order ---- */

static void lose_by_chance(struct chance *c)
{
    struct world *w = c->w;
    bool is_safe[CHANCE_KEYS];
    world_change(c->w, CHANGE_LOST, chance_node(c, false));
    chance_steps(c, 300);
    for (locus_key key = 0; key < CHANCE_KEYS; key++) {
        is_safe[key] = false;
        for (unsigned n = 0; n < w->nodes; n++)
            is_safe[key] |= !w->is_lost[n] && world_known(w, n, key).is_here;
    }
    all_hear_of_it(c);
    world_deliver_all(w);
    chance_steps(c, 100);
    chance_settle(c);
    for (locus_key key = 0; key < CHANCE_KEYS; key++) {
        unsigned value = value_of(w, key);
        CHECK(value <= pushed_by(c, key, true));
        if (is_safe[key] && w->changes == 1) CHECK(value >= pushed_by(c, key, false));
    }
    take_values(c);
    chance_steps(c, 200);
    chance_settle(c);
    check_values(c);
}

TEST(repair, loss_at_any_time_leaves_one_owner_and_nothing_that_waits)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        static struct chance c;
        chance_open(&c, seed);
        unsigned nodes = c.w->nodes;
        chance_steps(&c, 200);
        lose_by_chance(&c);
        if (seed % 2) join_by_chance(&c);
        if (seed % 2 || nodes == 4) lose_by_chance(&c);
        if (nodes == 4) join_by_chance(&c);
        world_free(&c.w);
    }
}

/* A second one, while the first or the joining of a node is repaired. */
TEST(repair, losses_within_a_repair_leave_one_owner_and_nothing_that_waits)
{
    for (uint64_t seed = 1; seed <= 120; seed++) {
        static struct chance c;
        chance_open(&c, 3 * seed + 2); /* of four nodes */
        struct world *w = c.w;
        chance_steps(&c, 200);
        world_change(w, CHANGE_LOST, chance_node(&c, false));
        chance_steps(&c, world_random(w, 300));
        if (seed % 2) {
            all_hear_of_it(&c);
            chance_settle(&c);
            chance_join(&c);
            chance_steps(&c, world_random(w, 300));
        }
        for (unsigned losses = 1 + (unsigned)world_random(w, 2); losses > 0; losses--) {
            world_change(w, CHANGE_LOST, chance_node(&c, false));
            chance_steps(&c, world_random(w, 300));
        }
        all_hear_of_it(&c);
        chance_settle(&c);
        for (locus_key key = 0; key < CHANCE_KEYS; key++)
            CHECK(value_of(w, key) <= pushed_by(&c, key, true));
        take_values(&c);
        chance_steps(&c, 200);
        chance_settle(&c);
        check_values(&c);
        if (seed % 3) join_by_chance(&c);
        world_free(&c.w);
    }
}
