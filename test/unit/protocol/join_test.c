/* A node joins where one was lost: which rows are its own from then on, and what the others tell it
 * anew. Orders of things are the last test's, and the simulations'. */
#include "protocol/repair.h"

#include "common/stores.h"
#include "protocol/backlog.h"
#include "protocol/clocks.h"
#include "protocol/loss.h"
#include "test.h"
#include "world.h"

static struct world *survivors(enum locus_technique technique, unsigned nodes)
{
    return world_open(
        (struct world_config){.technique = technique, .nodes = nodes, .survives = true});
}

/* Frames and turns, until nothing is under way and all is saved. */
static void finish(struct world *w)
{
    world_pass(w, 30, 10 * WORLD_MS);
}

static void all_hear(struct world *w)
{
    const struct change *c = &w->change[w->changes - 1];
    for (unsigned n = 0; n < w->nodes; n++)
        if (!w->is_lost[n] && !(c->kind == CHANGE_JOINS && c->node == n)) world_hear(w, n);
    finish(w);
    for (unsigned n = 0; n < w->nodes; n++) {
        if (w->is_lost[n]) continue;
        CHECK(repair_is_over(&w->node[n].shard));
        CHECK_EQ(w->node[n].repaired, w->changes);
        CHECK_EQ(w->node[n].shard.parked_bytes, 0);
    }
}

static void lose(struct world *w, unsigned node)
{
    world_change(w, CHANGE_LOST, node);
    all_hear(w);
}

static void join(struct world *w, unsigned node)
{
    world_change(w, CHANGE_JOINS, node);
    all_hear(w);
}

static unsigned owner_of(struct world *w, locus_key key)
{
    unsigned owner = WORLD_NODES_MAX;
    for (unsigned n = 0; n < w->nodes; n++) {
        if (w->is_lost[n] || !world_known(w, n, key).is_here) continue;
        CHECK_EQ(owner, WORLD_NODES_MAX);
        owner = n;
    }
    CHECK(owner < WORLD_NODES_MAX);
    return owner;
}

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
    lose(w, 2);
    lose(w, 1);
    check_homes(w);
    join(w, 1);
    check_homes(w);
    lose(w, 3);
    join(w, 2);
    check_homes(w);
    for (locus_key key = 0; key < WORLD_KEYS; key++)
        CHECK(first[key] == 3 || home_at(w, 0, key) == first[key]);
    join(w, 3);
    check_homes(w);
    for (locus_key key = 0; key < WORLD_KEYS; key++) CHECK_EQ(home_at(w, 0, key), first[key]);
}

/* ---- rows ---- */

TEST(join, rows_that_nobody_has_written_are_at_home_again)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    lose(w, 1);
    join(w, 1);
    for (locus_key key = 0; key < WORLD_KEYS; key++) {
        unsigned home = home_at(w, 0, key);
        CHECK_EQ(owner_of(w, key), home);
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
    lose(w, 1);
    unsigned heir = home_at(w, 0, here), other = heir == 0 ? 2 : 0;
    world_run(w, other, REQUEST_SET, here, 7);
    world_run(w, other, REQUEST_SET, away, 8);
    world_run(w, 3, REQUEST_LOCALIZE, away, 0);
    unsigned owner = owner_of(w, here);
    finish(w);
    join(w, 1);
    CHECK_EQ(owner_of(w, here), owner);
    CHECK_EQ(owner_of(w, away), 3);
    CHECK_EQ(world_known(w, 1, here).owner, owner);
    CHECK_EQ(world_known(w, 1, away).owner, 3);
    for (unsigned n = 0; n < 4; n++) {
        CHECK_EQ(world_run(w, n, REQUEST_PULL, here, 0), 7);
        CHECK_EQ(world_run(w, n, REQUEST_PULL, away, 0), 8);
    }
    CHECK_EQ(world_run(w, 1, REQUEST_LOCALIZE, away, 0), 0);
    CHECK_EQ(owner_of(w, away), 1);
}
