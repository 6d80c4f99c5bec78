/* Saves: what is sent when, who keeps what until when, and what a row is when its owner was lost. */
#include "protocol/saves.h"

#include "protocol/loss.h"
#include "protocol/repair.h"

#include "test.h"
#include "world.h"

static struct saves *saves_of(struct world *w, unsigned node)
{
    return w->node[node].shard.saves;
}

static unsigned find_owner(struct world *w, locus_key key)
{
    for (unsigned n = 0; n < w->nodes; n++)
        if (!w->is_lost[n] && world_known(w, n, key).is_here) return n;
    return WORLD_NODES_MAX;
}

static unsigned owner_of(struct world *w, locus_key key)
{
    unsigned owner = find_owner(w, key);
    CHECK(owner < WORLD_NODES_MAX);
    return owner;
}

static float value_of(struct world *w, locus_key key)
{
    float row[WORLD_LENGTH];
    shard_read(world_ref(w, owner_of(w, key), key), row, 0);
    return row[0];
}

/* ---- any order ---- */

enum { CHANCE_KEYS = 6 };

struct chance {
    struct world *w;
    struct call call[WORLD_NODES_MAX];
    bool waits[WORLD_NODES_MAX]; /* the shard has not taken it on yet */
    float pushed[CHANCE_KEYS];
    struct {
        unsigned owner; /* of the last term that was seen, and what the row was when it came */
        uint64_t term;
        float came;
    } seen[CHANCE_KEYS];
    unsigned begun; /* bits of nodes that know of the last change of members */
};

static void call_again(struct chance *c, unsigned node)
{
    if (c->waits[node])
        c->waits[node] = !shard_serve(&c->w->node[node].shard, &c->call[node].request);
}

static void localize(struct chance *c, unsigned node, locus_key key)
{
    struct call *call = &c->call[node];
    if (call->request.busy || !c->w->node[node].shard.technique->localizes) return;
    call->item = (struct request_item){.key = key, .values = call->values};
    world_request(&call->request, 0, REQUEST_LOCALIZE, &call->item, 1);
    c->waits[node] = !shard_serve(&c->w->node[node].shard, &call->request);
}

enum writes { NO_WRITES, OWNERS_WRITE, ALL_WRITE };

static void act(struct chance *c, unsigned node, enum writes writes)
{
    struct world *w = c->w;
    locus_key key = world_random(w, CHANCE_KEYS);
    locus_clock *clock = &w->node[node].clock[0];
    call_again(c, node);
    switch (world_random(w, 4)) {
    case 0: localize(c, node, key); break;
    case 1:
        *clock += (locus_clock)world_random(w, 3);
        world_intend(w, node, 0, key, *clock, *clock + 1 + (locus_clock)world_random(w, 4));
        break;
    case 2:
        if (writes == NO_WRITES) break;
        if (writes == OWNERS_WRITE && !world_known(w, node, key).is_here) break;
        if (row_add(world_ref(w, node, key), world_ones) >= 0) c->pushed[key]++;
        break;
    default: w->now_ns += world_random(w, 60 * WORLD_MS); world_turn(w, node);
    }
}

static void look_at_owners(struct chance *c)
{
    for (locus_key key = 0; key < CHANCE_KEYS; key++) {
        unsigned owner = find_owner(c->w, key);
        uint64_t term = owner == WORLD_NODES_MAX ? 0 : world_known(c->w, owner, key).term;
        if (owner == WORLD_NODES_MAX) continue;
        if (owner == c->seen[key].owner && term == c->seen[key].term) continue;
        c->seen[key].owner = owner;
        c->seen[key].term = term;
        c->seen[key].came = value_of(c->w, key);
    }
}

static void step(struct chance *c, enum writes writes)
{
    struct world *w = c->w;
    unsigned node = (unsigned)world_random(w, w->nodes), to = (unsigned)world_random(w, w->nodes);
    const char *why;
    if (world_random(w, 2) == 0) {
        if (!w->is_lost[node]) act(c, node, writes);
        return;
    }
    world_deliver(w, node, to, &why);
    if (why) test_fail(__FILE__, __LINE__, "node %u refuses a frame of %u: %s", to, node, why);
}

static void hear_of_it(struct chance *c, unsigned node)
{
    if (c->w->is_lost[node] || c->begun >> node & 1) return;
    c->begun |= 1u << node;
    world_hear(c->w, node);
}

static void settle(struct chance *c)
{
    struct world *w = c->w;
    for (int round = 0; round < 60; round++) {
        for (unsigned n = 0; n < w->nodes; n++) {
            w->node[n].clock[0] += 2;
            if (!w->is_lost[n]) call_again(c, n);
        }
        world_pass(w, 1, 20 * WORLD_MS);
    }
    for (unsigned n = 0; n < w->nodes; n++) {
        struct saves *v = saves_of(w, n);
        if (w->is_lost[n]) continue;
        CHECK(!c->call[n].request.busy);
        CHECK_EQ(w->node[n].repaired, w->changes);
        if (w->node[n].shard.losses->members > 1) CHECK_EQ(bitset_lowest(&v->unsaved), BITSET_NONE);
        CHECK_EQ(v->awaited, 0);
        for (unsigned peer = 0; peer < w->nodes; peer++)
            CHECK_EQ(v->peer[peer].first, v->peer[peer].count);
    }
}

/* Of each key one row, at its owner; and one save, of the same values, at its guardian. */
static void check_saves(struct chance *c)
{
    struct world *w = c->w;
    for (locus_key key = 0; key < CHANCE_KEYS; key++) {
        unsigned owner = owner_of(w, key);
        struct row_ref ref = world_ref(w, owner, key);
        struct losses *l = w->node[owner].shard.losses;
        unsigned home = row_ref_home(ref), guardian = home == owner ? loss_heir(l, ref) : home;
        CHECK(value_of(w, key) == c->pushed[key]);
        for (unsigned n = 0; n < w->nodes; n++) {
            struct row_ref at = world_ref(w, n, key);
            if (w->is_lost[n] || l->members == 1) continue;
            bool is_needed = n == guardian && c->pushed[key] > 0;
            const float *row = saves_row(&w->node[n].shard, at);
            if (is_needed != (row != NULL))
                test_fail(__FILE__, __LINE__, "key %u of %u, guardian %u, at %u: %s", (unsigned)key,
                          owner, guardian, n, row ? "a save" : "no save");
            if (row) CHECK(row[0] == c->pushed[key]);
        }
    }
}

/* What the lost node's workers did to a row since it came may be lost, and nothing else. */
static void check_lost(struct chance *c, const float *least)
{
    for (locus_key key = 0; key < CHANCE_KEYS; key++) {
        float value = value_of(c->w, key);
        CHECK(value >= least[key]);
        CHECK(value <= c->pushed[key]);
        c->pushed[key] = value;
    }
}

/* All hear of a change, each at its own time, and repair it. */
static void repair(struct chance *c, enum writes writes)
{
    struct world *w = c->w;
    for (int i = 0; i < 200; i++) {
        step(c, writes);
        if (world_random(w, 32) == 0) hear_of_it(c, (unsigned)world_random(w, w->nodes));
    }
    for (unsigned n = 0; n < w->nodes; n++) hear_of_it(c, n);
    for (unsigned n = 0; n < w->nodes; n++)
        for (int i = 0; !w->is_lost[n] && w->node[n].repaired != w->changes; i++) {
            CHECK(i < 100000);
            step(c, writes);
        }
}

/* All is saved; then rows move, and a node is lost at any time. */
static void lose_by_chance(struct chance *c, enum writes writes)
{
    struct world *w = c->w;
    float least[CHANCE_KEYS];
    unsigned lost;
    for (uint64_t i = world_random(w, 300); i > 0; i--) {
        step(c, writes);
        look_at_owners(c);
    }
    do lost = (unsigned)world_random(w, w->nodes);
    while (w->is_lost[lost]);
    for (locus_key key = 0; key < CHANCE_KEYS; key++)
        least[key] = c->seen[key].owner == lost ? c->seen[key].came : c->pushed[key];
    world_change(w, CHANGE_LOST, lost);
    c->call[lost].request.busy = 0;
    c->begun = 0;
    repair(c, NO_WRITES);
    if (writes == NO_WRITES) return; /* another may be lost now */
    settle(c);
    check_lost(c, least);
}

/* A node that was lost comes back at any time: nothing is lost. */
static void join_by_chance(struct chance *c)
{
    struct world *w = c->w;
    unsigned node;
    do node = (unsigned)world_random(w, w->nodes);
    while (!w->is_lost[node]);
    for (uint64_t i = world_random(w, 100); i > 0; i--) step(c, ALL_WRITE);
    world_change(w, CHANGE_JOINS, node);
    c->waits[node] = false;
    c->call[node] = (struct call){0};
    c->begun = 1u << node;
    repair(c, ALL_WRITE);
}

TEST(saves, what_was_saved_survives_a_loss_at_any_time)
{
    static const enum locus_technique techniques[] = {LOCUS_ADAPTIVE, LOCUS_RELOCATE,
                                                      LOCUS_REPLICATE};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        static struct chance c;
        unsigned nodes = 2 + seed % 3;
        c = (struct chance){
            .w = world_open((struct world_config){.technique = techniques[seed / 3 % 3],
                                                  .nodes = nodes,
                                                  .keys = CHANCE_KEYS,
                                                  .survives = true})};
        c.w->random = 2 * seed + 1;
        for (unsigned losses = 0; losses < nodes - 1; losses++) {
            if (losses == 0 || world_random(c.w, 2) == 0) {
                for (int i = 0; i < 200; i++) step(&c, ALL_WRITE);
                settle(&c);
                check_saves(&c);
            }
            look_at_owners(&c);
            lose_by_chance(&c, seed % 2 ? NO_WRITES : OWNERS_WRITE);
            if (world_random(c.w, 2)) continue;
            join_by_chance(&c);
            settle(&c);
            check_saves(&c);
        }
        settle(&c);
        check_saves(&c);
        world_free(&c.w);
    }
}

/* ---- one rule each ---- */

static struct world *survivors(enum locus_technique technique, unsigned nodes)
{
    return world_open(
        (struct world_config){.technique = technique, .nodes = nodes, .survives = true});
}

static float saved_at(struct world *w, unsigned node, locus_key key)
{
    const float *row = saves_row(&w->node[node].shard, world_ref(w, node, key));
    return row ? row[0] : -1;
}

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
    world_lose(w, 1);
    for (unsigned n = 0; n < 4; n++)
        if (n != 1) repair_begin(&w->node[n].shard, (struct change){1, CHANGE_LOST, 1});
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
    world_lose(w, 2);
    for (unsigned n = 0; n < 2; n++)
        repair_begin(&w->node[n].shard, (struct change){1, CHANGE_LOST, 2});
    sweep_all(w);
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
    world_lose(w, lost);
    for (unsigned n = 0; n < 4; n++)
        if (n != lost) repair_begin(&w->node[n].shard, (struct change){1, CHANGE_LOST, lost});
    sweep_all(w);
    CHECK_EQ(owner_of(w, key), other);
    for (unsigned n = 0; n < 4; n++)
        if (n != lost) CHECK(saved_at(w, n, key) == (n == 0 ? 7 : -1));
}

/* It was brought before the first write, and the refresh is lost. */
TEST(saves, replica_of_zeros_is_less_than_a_save)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_REPLICATE, 3);
    locus_key key = world_key(w, 1);
    unsigned heir = heir_of(w, 1, key), other = 2 - heir;
    const char *why;
    world_intend(w, other, 0, key, 0, 1000);
    world_pass(w, 10, 10 * WORLD_MS);
    CHECK(world_known(w, other, key).is_replica);
    CHECK_EQ(row_add(world_ref(w, 1, key), world_ones), 0);
    w->now_ns += 2 * SAVES_PAUSE_NS;
    world_turn(w, 1);
    while (world_deliver(w, 1, heir, &why)) CHECK(!why);
    CHECK(saved_at(w, heir, key) == 1);
    world_lose(w, 1);
    repair_begin(&w->node[heir].shard, (struct change){1, CHANGE_LOST, 1});
    repair_begin(&w->node[other].shard, (struct change){1, CHANGE_LOST, 1});
    sweep_all(w);
    CHECK_EQ(value_of(w, key), 1);
}

TEST(saves, loss_is_repaired_for_the_platform_when_all_is_saved_again)
{
    CLOSED_BY(world_free) struct world *w = survivors(LOCUS_ADAPTIVE, 3);
    locus_key key = world_key(w, 0);
    unsigned heir = heir_of(w, 0, key), other = 3 - heir;
    CHECK_EQ(row_add(world_ref(w, 0, key), world_ones), 0);
    sweep_all(w);
    world_lose(w, heir);
    repair_begin(&w->node[0].shard, (struct change){1, CHANGE_LOST, heir});
    repair_begin(&w->node[other].shard, (struct change){1, CHANGE_LOST, heir});
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
