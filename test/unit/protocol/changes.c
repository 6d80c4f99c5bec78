#include "changes.h"

#include "protocol/loss.h"
#include "protocol/saves.h"
#include "test.h"

struct world *survivors(enum locus_technique technique, unsigned nodes)
{
    return world_open(
        (struct world_config){.technique = technique, .nodes = nodes, .survives = true});
}

void finish(struct world *w)
{
    world_pass(w, 30, 10 * WORLD_MS);
}

void all_hear(struct world *w)
{
    for (unsigned n = 0; n < w->nodes; n++) {
        const struct losses *l = w->node[n].shard.losses;
        while (!w->is_lost[n] && l->change.number < w->changes) world_hear(w, n);
    }
    finish(w);
    for (unsigned n = 0; n < w->nodes; n++) {
        if (w->is_lost[n]) continue;
        CHECK(repair_is_over(&w->node[n].shard));
        CHECK_EQ(w->node[n].repaired, w->changes);
        CHECK_EQ(w->node[n].shard.parked_bytes, 0);
    }
}

void all_change(struct world *w, enum change_kind kind, unsigned node)
{
    world_change(w, kind, node);
    all_hear(w);
}

unsigned guardian_of(struct world *w, unsigned owner, locus_key key)
{
    struct row_ref ref = world_ref(w, owner, key);
    unsigned home = row_ref_home(ref);
    return home == owner ? loss_heir(w->node[owner].shard.losses, ref) : home;
}

float saved_at(struct world *w, unsigned node, locus_key key)
{
    const float *row = saves_row(&w->node[node].shard, world_ref(w, node, key));
    return row ? row[0] : -1;
}

/* ---- by chance ---- */

void chance_open(struct chance *c, uint64_t seed)
{
    static const enum locus_technique techniques[] = {LOCUS_ADAPTIVE, LOCUS_RELOCATE,
                                                      LOCUS_REPLICATE};
    *c =
        (struct chance){.w = world_open((struct world_config){.technique = techniques[seed / 3 % 3],
                                                              .nodes = 2 + seed % 3,
                                                              .keys = CHANCE_KEYS,
                                                              .survives = true}),
                        .writes = ALL_WRITE};
    c->w->random = 2 * seed + 1;
}

static void ask(struct chance *c, unsigned node, unsigned i, enum request_kind kind, locus_key key)
{
    struct call *call = &c->call[node][i];
    for (int k = 0; k < WORLD_LENGTH; k++) call->values[k] = 1;
    call->item = (struct request_item){.key = key, .values = call->values};
    world_request(&call->request, i, kind, &call->item, 1);
    c->waits[node][i] = !shard_serve(&c->w->node[node].shard, &call->request);
    if (kind == REQUEST_PUSH) c->pushed[node][key]++;
}

static void call_again(struct chance *c, unsigned node)
{
    for (unsigned i = 0; i < CHANCE_CALLS; i++)
        if (c->waits[node][i])
            c->waits[node][i] = !shard_serve(&c->w->node[node].shard, &c->call[node][i].request);
}

static enum request_kind kind_by_chance(struct chance *c, unsigned node)
{
    static const enum request_kind kinds[] = {REQUEST_PUSH, REQUEST_PULL, REQUEST_LOCALIZE,
                                              REQUEST_PUSH};
    enum request_kind kind = kinds[world_random(c->w, 4)];
    bool localizes = c->w->node[node].shard.technique->localizes;
    bool can_be = kind == REQUEST_LOCALIZE ? localizes : c->writes == ALL_WRITE;
    return can_be ? kind : REQUEST_PULL;
}

static bool may_write(const struct chance *c, unsigned node, locus_key key)
{
    return c->writes == ALL_WRITE ||
           (c->writes == OWNERS_WRITE && world_known(c->w, node, key).is_here);
}

static void do_something(struct chance *c, unsigned node, unsigned what)
{
    struct world *w = c->w;
    locus_key key = world_random(w, CHANCE_KEYS);
    unsigned i = (unsigned)world_random(w, CHANCE_CALLS);
    enum request_kind kind = kind_by_chance(c, node);
    locus_clock *clock = &w->node[node].clock[0];
    call_again(c, node);
    switch (what) {
    case 0:
    case 1:
        if (!c->call[node][i].request.busy) ask(c, node, i, kind, key);
        break;
    case 2:
        *clock += (locus_clock)world_random(w, 3);
        world_intend(w, node, 0, key, *clock, *clock + 1 + (locus_clock)world_random(w, 4));
        break;
    case 3:
        if (may_write(c, node, key) && row_add(world_ref(w, node, key), world_ones) >= 0)
            c->pushed[node][key]++;
        break;
    case 4:
        w->now_ns += world_random(w, (world_random(w, 2) ? 2 : 60) * WORLD_MS);
        world_turn(w, node);
        break;
    }
}

static bool waits_to_hear(const struct chance *c, unsigned node)
{
    return !c->w->is_lost[node] && c->w->node[node].shard.losses->change.number < c->w->changes;
}

static void step(struct chance *c)
{
    struct world *w = c->w;
    unsigned what = (unsigned)world_random(w, 12), waiting = 0;
    unsigned node = (unsigned)world_random(w, w->nodes), to = (unsigned)world_random(w, w->nodes);
    const char *why;
    if (what < 5) {
        if (!w->is_lost[node]) do_something(c, node, what);
        return;
    }
    world_deliver(w, node, to, &why);
    if (why) test_fail(__FILE__, __LINE__, "node %u refuses a frame of %u: %s", to, node, why);
    for (unsigned n = 0; n < w->nodes; n++) waiting += waits_to_hear(c, n);
    if (waiting > 1 && waits_to_hear(c, node) && world_random(w, 8) == 0) world_hear(w, node);
}

void chance_steps(struct chance *c, uint64_t times)
{
    while (times-- > 0) step(c);
}

void all_hear_of_it(struct chance *c)
{
    for (unsigned n = 0; n < c->w->nodes; n++)
        while (waits_to_hear(c, n)) world_hear(c->w, n);
}

static void check_settled(struct chance *c, unsigned node)
{
    struct world *w = c->w;
    struct shard *s = &w->node[node].shard;
    for (unsigned i = 0; i < CHANCE_CALLS; i++) CHECK(!c->call[node][i].request.busy);
    CHECK(repair_is_over(s));
    CHECK_EQ(w->node[node].repaired, w->changes);
    CHECK_EQ(s->parked_bytes, 0);
    CHECK_EQ(s->replicas->orphans, 0);
    CHECK_EQ(s->replicas->awaited, 0);
    CHECK_EQ(world_records(w, node), 0);
    CHECK_EQ(s->saves->awaited, 0);
    if (s->losses->members > 1) CHECK_EQ(bitset_lowest(&s->saves->unsaved), BITSET_NONE);
    for (unsigned peer = 0; peer < w->nodes; peer++) {
        CHECK_EQ(s->asked_bytes[peer], 0);
        CHECK_EQ(s->saves->peer[peer].first, s->saves->peer[peer].count);
    }
}

void chance_settle(struct chance *c)
{
    struct world *w = c->w;
    for (int round = 0; round < 60; round++) {
        for (unsigned n = 0; n < w->nodes; n++) {
            if (w->is_lost[n]) continue;
            w->node[n].clock[0] += 2;
            call_again(c, n);
        }
        world_pass(w, 1, 20 * WORLD_MS);
    }
    for (unsigned n = 0; n < w->nodes; n++)
        if (!w->is_lost[n]) check_settled(c, n);
}

unsigned value_of(struct world *w, locus_key key)
{
    return (unsigned)world_value(w, world_owner(w, key), key);
}

unsigned pushed_by(const struct chance *c, locus_key key, bool by_lost)
{
    unsigned sum = 0;
    for (unsigned n = 0; n < c->w->nodes; n++)
        if (!c->w->is_lost[n] || by_lost) sum += c->pushed[n][key];
    return sum;
}

void check_values(struct chance *c)
{
    for (locus_key key = 0; key < CHANCE_KEYS; key++)
        CHECK_EQ(value_of(c->w, key), pushed_by(c, key, true));
}

void take_values(struct chance *c)
{
    for (locus_key key = 0; key < CHANCE_KEYS; key++) {
        for (unsigned n = 1; n < c->w->nodes; n++) c->pushed[n][key] = 0;
        c->pushed[0][key] = value_of(c->w, key);
    }
}

unsigned chance_node(struct chance *c, bool is_lost)
{
    unsigned node;
    do node = (unsigned)world_random(c->w, c->w->nodes);
    while (c->w->is_lost[node] != is_lost);
    return node;
}

void chance_join(struct chance *c)
{
    unsigned node = chance_node(c, true);
    for (unsigned i = 0; i < CHANCE_CALLS; i++) {
        c->call[node][i] = (struct call){0};
        c->waits[node][i] = false;
    }
    world_change(c->w, CHANGE_JOINS, node);
}

void join_by_chance(struct chance *c)
{
    chance_steps(c, world_random(c->w, 200));
    chance_join(c);
    chance_steps(c, 300);
    all_hear_of_it(c);
    chance_steps(c, 300);
    chance_settle(c);
    check_values(c);
}
