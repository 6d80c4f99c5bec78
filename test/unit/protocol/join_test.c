/* A node joins where one was lost: which rows are its own from then on, and what the others tell it
 * anew. Orders of things are the last test's, and the simulations'. */
#include "changes.h"
#include "protocol/clocks.h"
#include "protocol/loss.h"
#include "protocol/saves.h"
#include "test.h"

static unsigned home_at(const struct world *w, unsigned node, locus_key key)
{
    return row_ref_home(world_ref(w, node, key));
}

/* All that live agree on homes and heirs. */
static void check_homes(struct world *w)
{
    for (locus_key key = 0; key < WORLD_KEYS; key++)
        for (unsigned n = 1; n < w->nodes; n++) {
            if (w->is_lost[n]) continue;
            CHECK_EQ(home_at(w, n, key), home_at(w, 0, key));
            CHECK_EQ(loss_heir(w->node[n].shard.losses, world_ref(w, n, key)),
                     loss_heir(w->node[0].shard.losses, world_ref(w, 0, key)));
        }
}

/* ---- homes ---- */

TEST(join, homes_come_back_and_all_agree_on_them)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_ADAPTIVE, 4);
    unsigned first[WORLD_KEYS];
    for (locus_key key = 0; key < WORLD_KEYS; key++) first[key] = home_at(w, 0, key);
    all_change(w, CHANGE_LOST, 2);
    all_change(w, CHANGE_LOST, 1);
    check_homes(w);
    all_change(w, CHANGE_JOINS, 1);
    check_homes(w);
    all_change(w, CHANGE_LOST, 3);
    all_change(w, CHANGE_JOINS, 2);
    check_homes(w);
    for (locus_key key = 0; key < WORLD_KEYS; key++)
        CHECK(first[key] == 3 || home_at(w, 0, key) == first[key]);
    all_change(w, CHANGE_JOINS, 3);
    check_homes(w);
    for (locus_key key = 0; key < WORLD_KEYS; key++) CHECK_EQ(home_at(w, 0, key), first[key]);
}

/* ---- rows ---- */

TEST(join, rows_that_nobody_has_written_are_at_home_again)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    all_change(w, CHANGE_LOST, 1);
    all_change(w, CHANGE_JOINS, 1);
    for (locus_key key = 0; key < WORLD_KEYS; key++) {
        unsigned home = home_at(w, 0, key);
        CHECK_EQ(world_owner(w, key), home);
        for (unsigned n = 0; n < 3; n++)
            CHECK_EQ(row_ref_was_held(world_ref(w, n, key)), n == home);
        CHECK_EQ(row_add(world_ref(w, home, key), world_ones), 0);
        for (unsigned n = 0; n < 3; n++) CHECK_EQ(world_run(w, n, REQUEST_PULL, key, 0), 1);
        CHECK_EQ(world_run(w, 2, REQUEST_LOCALIZE, key, 0), 0);
        CHECK_EQ(world_run(w, 1, REQUEST_PULL, key, 0), 1);
    }
}

TEST(join, rows_that_others_have_stay_there_and_the_newcomer_knows)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 4);
    locus_key here = world_key(w, 1), away = here + 4;
    CHECK_EQ(home_at(w, 0, away), 1);
    all_change(w, CHANGE_LOST, 1);
    unsigned heir = home_at(w, 0, here), other = heir == 0 ? 2 : 0;
    world_run(w, other, REQUEST_SET, here, 7);
    world_run(w, other, REQUEST_SET, away, 8);
    world_run(w, 3, REQUEST_LOCALIZE, away, 0);
    unsigned owner = world_owner(w, here);
    finish(w);
    all_change(w, CHANGE_JOINS, 1);
    CHECK_EQ(world_owner(w, here), owner);
    CHECK_EQ(world_owner(w, away), 3);
    CHECK_EQ(world_known(w, 1, here).owner, owner);
    CHECK_EQ(world_known(w, 1, away).owner, 3);
    for (unsigned n = 0; n < 4; n++) {
        CHECK_EQ(world_run(w, n, REQUEST_PULL, here, 0), 7);
        CHECK_EQ(world_run(w, n, REQUEST_PULL, away, 0), 8);
    }
    CHECK_EQ(world_run(w, 1, REQUEST_LOCALIZE, away, 0), 0);
    CHECK_EQ(world_owner(w, away), 1);
}

/* What was wanted, and here, before anybody had written it. */
TEST(join, row_that_its_former_home_wants_comes_back)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_ADAPTIVE, 3);
    locus_key key = world_key(w, 1);
    all_change(w, CHANGE_LOST, 1);
    unsigned heir = home_at(w, 0, key);
    world_intend(w, heir, 0, key, 0, 1000);
    all_change(w, CHANGE_JOINS, 1);
    CHECK_EQ(world_owner(w, key), heir);
    CHECK_EQ(world_known(w, 1, key).owner, heir);
}

/* ---- saves ---- */

/* Its owner stays, and its guardian is another one. */
TEST(join, rows_are_saved_anew_where_the_guardian_changes)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    for (locus_key key = 0; key < WORLD_KEYS; key++) world_run(w, 0, REQUEST_SET, key, 7);
    finish(w);
    all_change(w, CHANGE_LOST, 1);
    all_change(w, CHANGE_JOINS, 1);
    for (locus_key key = 0; key < WORLD_KEYS; key++) {
        unsigned owner = world_owner(w, key), guardian = guardian_of(w, owner, key);
        CHECK(owner != 1);
        for (unsigned n = 0; n < 3; n++)
            CHECK_EQ(saves_row(&w->node[n].shard, world_ref(w, n, key)) != NULL, n == guardian);
    }
    all_change(w, CHANGE_LOST, 2);
    for (locus_key key = 0; key < WORLD_KEYS; key++)
        CHECK_EQ(world_run(w, 1, REQUEST_PULL, key, 0), 7);
}

/* ---- clocks ---- */

static locus_clock progress[WORLD_NODES_MAX];
static const locus_clock *progress_of[WORLD_NODES_MAX];

static void give_progress(struct world *w, unsigned node)
{
    progress_of[node] = &progress[node];
    w->node[node].plan.progress = &progress_of[node];
}

static locus_clock gate_of(const struct world *w, unsigned node)
{
    return clocks_gate(w->node[node].shard.clocks);
}

/* A worker of node 0 waits; then all are at clock 5, but for nodes that were lost. */
static struct world *bounded(unsigned nodes, struct request *waits)
{
    struct world *w = survivors(LOCUS_ADAPTIVE, nodes);
    for (unsigned n = 0; n < nodes; n++) give_progress(w, n);
    for (unsigned n = 0; n < nodes; n++) progress[n] = n < 2 ? 5 : 0;
    for (unsigned n = nodes - 1; n > 1; n--) all_change(w, CHANGE_LOST, n);
    world_request(waits, 0, REQUEST_CLOCK, NULL, 0);
    waits->clock = 6;
    CHECK(shard_serve(&w->node[0].shard, waits));
    finish(w);
    CHECK(gate_of(w, 0) == 5 && gate_of(w, 1) == 5 && waits->busy);
    return w;
}

TEST(join, newcomer_holds_no_clock_up_until_its_workers_have_passed_those_it_found)
{
    static struct request waits;
    CLOSED_BY(world_free) struct world *w = bounded(4, &waits);
    progress[2] = 0;
    world_change(w, CHANGE_JOINS, 2);
    give_progress(w, 2);
    all_hear(w);
    CHECK_EQ(gate_of(w, 2), 5); /* node 3 is not awaited */
    CHECK_EQ(w->node[2].shard.clocks->peer[0].awaited, 6);
    progress[0] = progress[1] = 6;
    finish(w);
    CHECK(!waits.busy);
    progress[2] = 4; /* does not count */
    progress[0] = progress[1] = 8;
    finish(w);
    CHECK_EQ(gate_of(w, 0), 8);
    progress[2] = 9;
    progress[0] = progress[1] = 12;
    finish(w);
    for (unsigned n = 0; n < 3; n++) CHECK_EQ(gate_of(w, n), 9);
}
