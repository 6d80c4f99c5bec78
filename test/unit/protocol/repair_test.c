/* A node is lost: what becomes of each row, and of what was under way. Orders of things are the
 * last test's, and the simulations'. */
#include "protocol/repair.h"

#include "test.h"
#include "world.h"

static void begin(struct world *w, unsigned node, uint32_t view, unsigned lost)
{
    repair_begin(&w->node[node].shard, view, lost);
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

/* ---- any order ---- */

enum { CHANCE_KEYS = 6, CHANCE_CALLS = 3 };

struct chance {
    struct world *w;
    struct call call[WORLD_NODES_MAX][CHANCE_CALLS];
    bool waits[WORLD_NODES_MAX][CHANCE_CALLS]; /* the shard has not taken it on yet */
    unsigned pushed[WORLD_NODES_MAX][CHANCE_KEYS];
    unsigned begun; /* bits of nodes that know of the loss */
    unsigned lost;
    uint32_t view;
};

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

static void do_something(struct chance *c, unsigned node, unsigned what)
{
    struct world *w = c->w;
    locus_key key = world_random(w, CHANCE_KEYS);
    unsigned i = (unsigned)world_random(w, CHANCE_CALLS);
    static const enum request_kind kinds[] = {REQUEST_PUSH, REQUEST_PULL, REQUEST_LOCALIZE,
                                              REQUEST_PUSH};
    enum request_kind kind = kinds[world_random(w, 4)];
    bool localizes = w->node[node].shard.technique->localizes;
    if (kind == REQUEST_LOCALIZE && !localizes) kind = REQUEST_PULL;
    call_again(c, node);
    switch (what) {
    case 0:
    case 1:
        if (!c->call[node][i].request.busy) ask(c, node, i, kind, key);
        break;
    case 2:
        w->node[node].clock[0] += (locus_clock)world_random(w, 3);
        world_intend(w, node, 0, key, w->node[node].clock[0],
                     w->node[node].clock[0] + 1 + (locus_clock)world_random(w, 4));
        break;
    case 3:
        if (row_add(world_ref(w, node, key), world_ones) >= 0) c->pushed[node][key]++;
        break;
    case 4:
        w->now_ns += world_random(w, 2 * WORLD_MS);
        world_turn(w, node);
        break;
    }
}

static void step(struct chance *c)
{
    struct world *w = c->w;
    unsigned what = (unsigned)world_random(w, 12);
    unsigned node = (unsigned)world_random(w, w->nodes), to = (unsigned)world_random(w, w->nodes);
    const char *why;
    if (what < 5) {
        if (!w->is_lost[node]) do_something(c, node, what);
        return;
    }
    world_deliver(w, node, to, &why);
    if (why) test_fail(__FILE__, __LINE__, "node %u refuses a frame of %u: %s", to, node, why);
    unsigned know = c->begun | 1u << node;
    for (unsigned n = 0; n < w->nodes; n++) know |= (unsigned)w->is_lost[n] << n;
    bool is_last = know == (1u << w->nodes) - 1;
    if (c->view && !w->is_lost[node] && !is_last && !(c->begun >> node & 1) &&
        world_random(w, 8) == 0) {
        c->begun |= 1u << node;
        begin(w, node, c->view, c->lost);
    }
}

static void settle(struct chance *c)
{
    struct world *w = c->w;
    for (int round = 0; round < 60; round++) {
        for (unsigned n = 0; n < w->nodes; n++) {
            if (w->is_lost[n]) continue;
            w->node[n].clock[0] += 2;
            call_again(c, n);
        }
        world_pass(w, 1, 10 * WORLD_MS);
    }
    for (unsigned n = 0; n < w->nodes; n++) {
        struct shard *s = &w->node[n].shard;
        if (w->is_lost[n]) continue;
        for (unsigned i = 0; i < CHANCE_CALLS; i++) CHECK(!c->call[n][i].request.busy);
        CHECK(repair_is_over(s));
        CHECK_EQ(s->parked_bytes, 0);
        CHECK_EQ(s->replicas->orphans, 0);
        CHECK_EQ(s->replicas->awaited, 0);
        for (unsigned peer = 0; peer < w->nodes; peer++) CHECK_EQ(s->asked_bytes[peer], 0);
        CHECK_EQ(world_records(w, n), 0);
    }
}

static unsigned value_of(struct world *w, locus_key key)
{
    float row[64];
    shard_read(world_ref(w, owner_of(w, key), key), row, 0);
    return (unsigned)row[0];
}

static unsigned pushed_by(const struct chance *c, locus_key key, bool by_lost)
{
    unsigned sum = 0;
    for (unsigned n = 0; n < c->w->nodes; n++)
        if (!c->w->is_lost[n] || by_lost) sum += c->pushed[n][key];
    return sum;
}

static void lose_by_chance(struct chance *c)
{
    struct world *w = c->w;
    bool is_safe[CHANCE_KEYS];
    unsigned again = 0, before[CHANCE_KEYS];
    do c->lost = 1 + (unsigned)world_random(w, w->nodes - 1);
    while (w->is_lost[c->lost]);
    world_lose(w, c->lost);
    c->view++;
    c->begun = 0;
    for (int i = 0; i < 300; i++) step(c);
    for (locus_key key = 0; key < CHANCE_KEYS; key++) {
        is_safe[key] = false;
        for (unsigned n = 0; n < w->nodes; n++)
            is_safe[key] |= !w->is_lost[n] && world_known(w, n, key).is_here;
    }
    for (unsigned n = 0; n < w->nodes; n++)
        if (!w->is_lost[n] && !(c->begun >> n & 1)) begin(w, n, c->view, c->lost);
    world_deliver_all(w);
    for (int i = 0; i < 100; i++) step(c);
    settle(c);
    for (unsigned n = 0; n < w->nodes; n++)
        again += (unsigned)w->node[n].shard.counters.asked_again;
    for (locus_key key = 0; key < CHANCE_KEYS; key++) {
        unsigned value = value_of(w, key);
        CHECK(value <= pushed_by(c, key, true) + again);
        if (is_safe[key] && c->view == 1) CHECK(value >= pushed_by(c, key, false));
        before[key] = value - pushed_by(c, key, true);
    }
    c->begun = ~0u;
    for (int i = 0; i < 200; i++) step(c);
    settle(c);
    for (locus_key key = 0; key < CHANCE_KEYS; key++)
        CHECK_EQ(value_of(w, key) - pushed_by(c, key, true), before[key]);
}

TEST(repair, loss_at_any_time_leaves_one_owner_and_nothing_that_waits)
{
    static const enum locus_technique techniques[] = {LOCUS_ADAPTIVE, LOCUS_RELOCATE,
                                                      LOCUS_REPLICATE};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        static struct chance c;
        unsigned nodes = 2 + seed % 3;
        c = (struct chance){
            .w = world_open((struct world_config){.technique = techniques[seed / 3 % 3],
                                                  .nodes = nodes,
                                                  .keys = CHANCE_KEYS,
                                                  .survives = true})};
        c.w->random = 2 * seed + 1;
        for (int i = 0; i < 200; i++) step(&c);
        lose_by_chance(&c);
        if (nodes == 4) lose_by_chance(&c);
        world_free(&c.w);
    }
}
