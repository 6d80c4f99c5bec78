/* Saves: what is sent when, who keeps what until when, and what a row is when its owner was lost. */
#include "protocol/saves.h"

#include "changes.h"
#include "protocol/loss.h"
#include "test.h"

static struct saves *saves_of(struct world *w, unsigned node)
{
    return w->node[node].shard.saves;
}

/* ---- any order ---- */

struct seen {
    struct {
        unsigned owner; /* of the last term that was seen, and what the row was when it came */
        uint64_t term;
        unsigned came;
    } of[CHANCE_KEYS];
};

static void look_at_owners(const struct chance *c, struct seen *seen)
{
    for (locus_key key = 0; key < CHANCE_KEYS; key++)
        for (unsigned n = 0; n < c->w->nodes; n++) {
            struct location at = world_known(c->w, n, key);
            if (c->w->is_lost[n] || !at.is_here) continue;
            if (n == seen->of[key].owner && at.term == seen->of[key].term) continue;
            seen->of[key].owner = n;
            seen->of[key].term = at.term;
            seen->of[key].came = value_of(c->w, key);
        }
}

/* Of each key one row, at its owner; and one save, of the same values, at its guardian. */
static void check_saves(struct chance *c)
{
    struct world *w = c->w;
    check_values(c);
    for (locus_key key = 0; key < CHANCE_KEYS; key++) {
        unsigned owner = world_owner(w, key), guardian = guardian_of(w, owner, key);
        unsigned pushed = pushed_by(c, key, true);
        for (unsigned n = 0; n < w->nodes; n++) {
            if (w->is_lost[n] || w->node[n].shard.losses->members == 1) continue;
            bool is_needed = n == guardian && pushed > 0;
            float saved = saved_at(w, n, key);
            if (saved != (is_needed ? (float)pushed : -1))
                test_fail(__FILE__, __LINE__, "key %u of %u, guardian %u, at %u: %g, not of %u",
                          (unsigned)key, owner, guardian, n, saved, pushed);
        }
    }
}

/* All hear of a change, each at its own time, and repair it. */
static void repair(struct chance *c)
{
    struct world *w = c->w;
    chance_steps(c, 200);
    all_hear_of_it(c);
    for (unsigned n = 0; n < w->nodes; n++)
        for (int i = 0; !w->is_lost[n] && w->node[n].repaired != w->changes; i++) {
            CHECK(i < 100000);
            chance_steps(c, 1);
        }
}

/* All is saved; then rows move, and a node is lost at any time. What its workers did to a row since it
 * came may be lost, and nothing else. */
static void lose_by_chance(struct chance *c, enum writes writes)
{
    struct world *w = c->w;
    struct seen seen = {0};
    unsigned least[CHANCE_KEYS], lost;
    c->writes = writes;
    look_at_owners(c, &seen);
    for (uint64_t i = world_random(w, 300); i > 0; i--) {
        chance_steps(c, 1);
        look_at_owners(c, &seen);
    }
    lost = chance_node(c, false);
    for (locus_key key = 0; key < CHANCE_KEYS; key++)
        least[key] = seen.of[key].owner == lost ? seen.of[key].came : pushed_by(c, key, true);
    world_change(c->w, CHANGE_LOST, lost);
    c->writes = NO_WRITES;
    repair(c);
    c->writes = ALL_WRITE;
    if (writes == NO_WRITES) return; /* another may be lost now */
    chance_settle(c);
    for (locus_key key = 0; key < CHANCE_KEYS; key++) {
        CHECK(value_of(w, key) >= least[key]);
        CHECK(value_of(w, key) <= pushed_by(c, key, true));
    }
    take_values(c);
}

static void settle_saved(struct chance *c)
{
    chance_settle(c);
    check_saves(c);
}

TEST(saves, what_was_saved_survives_a_loss_at_any_time)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        static struct chance c;
        chance_open(&c, seed);
        for (unsigned losses = 0; losses < c.w->nodes - 1; losses++) {
            if (losses == 0 || world_random(c.w, 2) == 0) {
                chance_steps(&c, 200);
                settle_saved(&c);
            }
            lose_by_chance(&c, seed % 2 ? NO_WRITES : OWNERS_WRITE);
            if (world_random(c.w, 2)) continue;
            join_by_chance(&c);
            check_saves(&c);
        }
        settle_saved(&c);
        world_free(&c.w);
    }
}

/* ---- one rule each ---- */

static void sweep_all(struct world *w)
{
    world_pass(w, 4, SAVES_PAUSE_NS);
}

static unsigned heir_of(struct world *w, unsigned home, locus_key key)
{
    return loss_heir(w->node[home].shard.losses, world_ref(w, home, key));
}

/* Where the home owns the row, the heir has its save; elsewhere the home has. */
TEST(saves, guardian_is_the_home_or_who_would_inherit_from_it)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 4);
    locus_key key = world_key(w, 1);
    unsigned heir = heir_of(w, 1, key), other = heir == 0 ? 2 : 0;
    world_run(w, 1, REQUEST_SET, key, 7);
    CHECK(saved_at(w, heir, key) == -1);
    sweep_all(w);
    for (unsigned n = 0; n < 4; n++) CHECK(saved_at(w, n, key) == (n == heir ? 7 : -1));
    world_run(w, other, REQUEST_LOCALIZE, key, 0);
    CHECK(saved_at(w, 1, key) == 7); /* kept */
    world_run(w, other, REQUEST_SET, key, 8);
    sweep_all(w);
    for (unsigned n = 0; n < 4; n++) CHECK(saved_at(w, n, key) == (n == 1 ? 8 : -1));
    world_change(w, CHANGE_LOST, 1);
    for (unsigned n = 0; n < 4; n++)
        if (n != 1) world_hear(w, n);
    world_pass(w, 10, 1);
    for (unsigned n = 0; n < 4; n++)
        if (n != 1) CHECK_EQ(row_ref_home(world_ref(w, n, key)), heir);
    CHECK(w->node[heir].shard.saves->age.lost_ns >= SAVES_PAUSE_NS); /* as node 1 had said */
}

TEST(saves, sweep_says_what_changed_since_the_last_and_no_more)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_ADAPTIVE, 2);
    const struct shard_counters *c = &w->node[0].shard.counters;
    locus_key key = world_key(w, 0);
    struct row_ref ref = world_ref(w, 0, key);
    for (int i = 0; i < 3; i++) CHECK_EQ(row_add(ref, world_ones), 0); /* a first one, and others */
    sweep_all(w);
    CHECK_EQ(c->saves, 1);
    CHECK(!row_is_dirty(ref));
    CHECK_EQ(c->saved_bytes, wire_entry_bytes(WORLD_LENGTH));
    CHECK_EQ(row_add(ref, world_ones), 0);
    while (c->sweeps < 2) world_pass(w, 1, WORLD_MS);
    CHECK_EQ(row_add(ref, world_ones), 0);
    CHECK(!dirty_set_is_empty(w->node[0].shard.dirty));
    world_pass(w, 40, WORLD_MS);
    CHECK(dirty_set_is_empty(w->node[0].shard.dirty));
    CHECK_EQ(row_add(ref, world_ones), 0);
    CHECK(dirty_set_is_empty(w->node[0].shard.dirty)); /* it is known */
    sweep_all(w);
    CHECK_EQ(c->saves, 3);
    CHECK(saved_at(w, 1, key) == 6);
    uint64_t sweeps = c->sweeps;
    sweep_all(w);
    CHECK_EQ(c->sweeps, sweeps);
}

static uint64_t sent_bytes;

static uint64_t read_sent(void *context)
{
    (void)context;
    return sent_bytes;
}

static uint64_t sweeps_after(struct world *w, uint64_t ns)
{
    CHECK_EQ(row_add(world_ref(w, 0, world_key(w, 0)), world_ones), 0);
    for (uint64_t i = 0; i < 10; i++) world_pass(w, 1, ns / 10);
    return w->node[0].shard.counters.sweeps;
}

TEST(saves, large_sweep_waits_for_what_else_is_sent)
{
    enum { MUCH = SAVES_FEW_BYTES * 10 };
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_ADAPTIVE, 2);
    struct saves *v = saves_of(w, 0);
    w->node[0].calls.sent = read_sent;
    sent_bytes = 0;
    CHECK_EQ(sweeps_after(w, 2 * SAVES_PAUSE_NS), 1);
    CHECK_EQ(sweeps_after(w, 2 * SAVES_PAUSE_NS), 2); /* few bytes */
    v->bytes = MUCH;
    CHECK_EQ(sweeps_after(w, SAVES_AGE_NS / 2), 2);
    CHECK(v->age.here_ns >= SAVES_AGE_NS / 2);
    sent_bytes += MUCH * 100 / SAVES_PERCENT + 1;
    CHECK_EQ(sweeps_after(w, 2 * SAVES_PAUSE_NS), 3);
    v->bytes = MUCH;
    CHECK_EQ(sweeps_after(w, 2 * SAVES_AGE_NS), 4);
    v->bytes = MUCH;
    v->due_ns = 0;
    CHECK_EQ(sweeps_after(w, 2 * SAVES_PAUSE_NS), 5); /* at once */
}

/* Who gave them keeps them. */
TEST(saves, sweep_is_due_when_many_rows_have_come)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_ADAPTIVE, 2);
    struct saves *v = saves_of(w, 0);
    CHECK_EQ(sweeps_after(w, 2 * SAVES_PAUSE_NS), 1);
    v->due_ns = UINT64_MAX - 1;
    v->came = SAVES_CAME_MIN - 1;
    CHECK_EQ(sweeps_after(w, SAVES_PAUSE_NS), 1);
    v->came++;
    CHECK_EQ(sweeps_after(w, SAVES_PAUSE_NS), 2);
}

/* Node 2 got the row from node 1 and gave it to its home, node 0, where it has not arrived: a sweep
 * of node 2 must not let node 1 forget it. */
TEST(saves, giver_keeps_a_row_that_was_passed_on_until_it_has_been_received)
{
    static struct call c;
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    locus_key key = world_key(w, 0);
    world_run(w, 1, REQUEST_LOCALIZE, key, 0);
    world_run(w, 1, REQUEST_SET, key, 7);
    world_run(w, 2, REQUEST_LOCALIZE, key, 0);
    world_ask(w, &c, 0, 0, REQUEST_LOCALIZE, key, 0);
    world_travel(w, "02");
    w->now_ns += SAVES_PAUSE_NS;
    world_turn(w, 2);
    for (int i = 0; i < 3; i++)
        for (const char *why; world_deliver(w, 2, 1, &why) || world_deliver(w, 1, 2, &why);)
            CHECK(!why);
    world_turn(w, 2);
    CHECK(saved_at(w, 1, key) == 7);
    all_change(w, CHANGE_LOST, 2);
    CHECK_EQ(value_of(w, key), 7);
    CHECK_EQ(w->node[1].shard.counters.rows_kept, 1);
}

/* Its home gave it to node D, which passed it on and is lost before it has said that it is saved: the
 * heir's save of before is of no use. */
TEST(saves, heir_forgets_what_the_lost_node_got_from_the_home)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 4);
    locus_key key = world_key(w, 0);
    unsigned heir = heir_of(w, 0, key), lost = heir == 1 ? 2 : 1, other = 6 - heir - lost;
    world_run(w, 0, REQUEST_SET, key, 7);
    sweep_all(w);
    CHECK(saved_at(w, heir, key) == 7);
    world_run(w, lost, REQUEST_LOCALIZE, key, 0);
    world_run(w, other, REQUEST_LOCALIZE, key, 0);
    all_change(w, CHANGE_LOST, lost);
    CHECK_EQ(world_owner(w, key), other);
    for (unsigned n = 0; n < 4; n++)
        if (n != lost) CHECK(saved_at(w, n, key) == (n == 0 ? 7 : -1));
}

/* Its home is lost before it has got it from who had given the row to the lost node: he still has it,
 * for the next home, until that one has saved it anew. */
TEST(saves, what_is_kept_outlives_the_home_that_was_to_get_it)
{
    for (unsigned home = 1; home < 4; home++) {
        CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 4);
        locus_key key = world_key(w, home);
        unsigned lost = home == 3 ? 2 : 3;
        world_run(w, 0, REQUEST_LOCALIZE, key, 0);
        world_run(w, 0, REQUEST_SET, key, 7);
        world_run(w, lost, REQUEST_LOCALIZE, key, 0);
        world_change(w, CHANGE_LOST, lost);
        world_hear(w, 0);
        world_change(w, CHANGE_LOST, home);
        world_hear(w, 6 - lost - home);
        all_hear(w);
        CHECK_EQ(value_of(w, key), 7);
        unsigned owner = world_owner(w, key);
        for (unsigned n = 0; n < 4; n++)
            if (!w->is_lost[n])
                CHECK(saved_at(w, n, key) == (n == guardian_of(w, owner, key) ? 7 : -1));
    }
}

TEST(saves, loss_is_repaired_for_the_platform_when_all_is_saved_again)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_ADAPTIVE, 3);
    locus_key key = world_key(w, 0);
    unsigned heir = heir_of(w, 0, key), other = 3 - heir;
    CHECK_EQ(row_add(world_ref(w, 0, key), world_ones), 0);
    sweep_all(w);
    world_change(w, CHANGE_LOST, heir);
    world_hear(w, 0);
    world_hear(w, other);
    while (!repair_is_over(&w->node[0].shard)) {
        CHECK_EQ(w->node[0].repaired, 0);
        world_deliver_all(w);
        world_turn(w, other);
        world_turn(w, 0);
    }
    while (w->node[0].shard.counters.saves < 2) world_turn(w, 0);
    CHECK_EQ(w->node[0].repaired, 0); /* said, and not acknowledged */
    world_pass(w, 2, 1);
    CHECK_EQ(w->node[0].repaired, 1);
    CHECK(saved_at(w, other, key) == 1);
}

/* The later one wins: by its term, and of the same term by its version; and no row that is here. */
TEST(saves, later_save_stays_in_whatever_order_they_come)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    locus_key key = world_key(w, 0);
    static const struct {
        uint64_t term, version;
        uint32_t length;
        bool stays;
    } saves[] = {{2, 5, WORLD_LENGTH, true},
                 {1, 9, WORLD_LENGTH, false},
                 {2, 4, WORLD_LENGTH, false},
                 {2, 6, WORLD_LENGTH, true},
                 {2, 0, 0, false},
                 {3, 0, WORLD_LENGTH, true},
                 {3, 0, 0, false},
                 {4, 0, 0, true}};
    const struct saved *of = &saves_of(w, 1)->of[world_ref(w, 1, key).index];
    for (size_t i = 0; i < sizeof saves / sizeof *saves; i++) {
        struct saved before = *of;
        const struct wire_entry e = {.operation = WIRE_SAVE,
                                     .owner = 2,
                                     .origin = 2,
                                     .key = key,
                                     .length = saves[i].length,
                                     .term = saves[i].term,
                                     .version = saves[i].version};
        CHECK(world_receive(w, 1, 2, e) == NULL);
        bool is_new = of->term != before.term || of->version != before.version;
        CHECK_EQ(is_new, saves[i].stays);
        if (is_new) CHECK_EQ(of->place > 0, saves[i].length > 0);
    }
    CHECK(world_receive(w, 0, 2,
                        (struct wire_entry){.operation = WIRE_SAVE,
                                            .owner = 2,
                                            .origin = 2,
                                            .key = key,
                                            .length = WORLD_LENGTH,
                                            .term = 1,
                                            .version = 1}) == NULL);
    CHECK(saved_at(w, 0, key) == -1);
}

TEST(saves, what_cannot_be_is_refused)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_RELOCATE, 3);
    CLOSED_BY(world_free) struct world *mortal = world_new(LOCUS_RELOCATE, 3);
    locus_key key = world_key(w, 0);
    const struct wire_entry save = {.operation = WIRE_SAVE,
                                    .owner = 2,
                                    .origin = 2,
                                    .key = key,
                                    .length = WORLD_LENGTH,
                                    .version = UINT64_C(1) << 32};
    struct wire_entry saved = {.operation = WIRE_SAVED, .owner = 2, .origin = 2, .clock = 1};
    CHECK(world_receive(mortal, 1, 2, save) != NULL);
    CHECK(world_receive(mortal, 1, 2, saved) != NULL);
    CHECK(world_receive(w, 1, 2, save) != NULL);
    CHECK(world_receive(w, 1, 2, saved) != NULL); /* nothing was given */
    saved.clock = -1;
    CHECK(world_receive(w, 1, 2, saved) != NULL);
    saved.clock = 0;
    CHECK(world_receive(w, 1, 2, saved) == NULL);
    saved.flags = WIRE_END; /* nothing was said */
    CHECK(world_receive(w, 1, 2, saved) != NULL);
}
