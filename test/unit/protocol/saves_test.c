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
    unsigned begun; /* bits of nodes that know of the loss */
    unsigned lost;
    uint32_t view;
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

static void hear_of_loss(struct chance *c, unsigned node)
{
    if (c->w->is_lost[node] || c->begun >> node & 1) return;
    c->begun |= 1u << node;
    repair_begin(&c->w->node[node].shard, c->view, c->lost);
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
        CHECK_EQ(w->node[n].repaired, c->view);
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

/* All is saved; then rows move, and a node is lost at any time. */
static void lose_by_chance(struct chance *c, enum writes writes)
{
    struct world *w = c->w;
    float least[CHANCE_KEYS];
    for (uint64_t i = world_random(w, 300); i > 0; i--) {
        step(c, writes);
        look_at_owners(c);
    }
    do c->lost = (unsigned)world_random(w, w->nodes);
    while (w->is_lost[c->lost]);
    for (locus_key key = 0; key < CHANCE_KEYS; key++)
        least[key] = c->seen[key].owner == c->lost ? c->seen[key].came : c->pushed[key];
    world_lose(w, c->lost);
    c->call[c->lost].request.busy = 0;
    c->view++;
    c->begun = 0;
    for (int i = 0; i < 200; i++) {
        step(c, NO_WRITES);
        if (world_random(w, 32) == 0) hear_of_loss(c, (unsigned)world_random(w, w->nodes));
    }
    for (unsigned n = 0; n < w->nodes; n++) hear_of_loss(c, n);
    for (unsigned n = 0; n < w->nodes; n++)
        for (int i = 0; !w->is_lost[n] && w->node[n].repaired != c->view; i++) {
            CHECK(i < 100000);
            step(c, NO_WRITES);
        }
    if (writes == NO_WRITES) return; /* another may be lost now */
    settle(c);
    check_lost(c, least);
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
        }
        settle(&c);
        check_saves(&c);
        world_free(&c.w);
    }
}
