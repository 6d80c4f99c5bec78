/* For how long replicas answer whose owners are silent. Orders: the simulation's script "silence". */
#include "protocol/sources.h"

#include "test.h"
#include "world.h"

#define BOUND (100 * WORLD_MS)

static void bound(struct world *w, uint64_t ns)
{
    for (unsigned n = 0; n < w->nodes; n++) {
        w->node[n].shard.sources->bound_ns = ns;
        sources_publish(&w->node[n].shard);
    }
}

static void keep(struct world *w, unsigned node, locus_key key)
{
    world_event(w, node, INTENT_KEEPS, key);
    world_turn(w, node);
    world_deliver_all(w);
}

/* Node 0 holds a replica of a key of node 1, and one of a key of node 2. */
static struct world *world_with_replicas(enum locus_technique technique, locus_key key[3])
{
    struct world *w = world_new(technique, 3);
    w->now_ns = 1000 * WORLD_MS;
    for (unsigned n = 1; n < 3; n++) {
        key[n] = world_key(w, n);
        if (technique != LOCUS_FULL_REPLICATION) keep(w, 0, key[n]);
    }
    bound(w, BOUND);
    for (unsigned n = 1; n < 3; n++) shard_heartbeat(&w->node[0].shard, n);
    return w;
}

static bool is_fresh(struct world *w)
{
    return sources_are_fresh(w->node[0].shard.sources, w->now_ns);
}

static void pull(struct world *w, struct call *c, unsigned number, locus_key key)
{
    world_ask(w, c, 0, number, REQUEST_PULL, key, 0);
}

TEST(sources, pull_waits_for_an_owner_that_is_silent)
{
    static const enum locus_technique techniques[] = {LOCUS_ADAPTIVE, LOCUS_RELOCATE,
                                                      LOCUS_FULL_REPLICATION};
    for (int i = 0; i < 3; i++) {
        static struct call of_silent, once_more, of_speaking;
        locus_key key[3];
        CLOSED_BY(world_free) struct world *w = world_with_replicas(techniques[i], key);
        struct shard *s = &w->node[0].shard;
        w->now_ns += BOUND;
        CHECK(is_fresh(w)); /* not for longer */
        shard_heartbeat(s, 2);
        w->now_ns += 1;
        CHECK(!is_fresh(w)); /* node 1 is silent */
        pull(w, &of_speaking, 0, key[2]);
        CHECK(!of_speaking.request.busy); /* the shard knows better than all its workers */
        CHECK_EQ(row_add(world_ref(w, 0, key[1]), world_ones), ROW_ON_REPLICA);
        CHECK_EQ(row_add(world_ref(w, 1, key[1]), world_ones), 0);
        pull(w, &of_silent, 1, key[1]);
        pull(w, &once_more, 2, key[1]);
        CHECK_EQ(s->counters.pulled_too_old, 2); /* and not the one that was served */
        world_turn(w, 0);                        /* and nobody looks for ever */
        CHECK(of_silent.request.busy);
        world_deliver_all(w);
        CHECK_EQ(world_pulled(&of_silent), 2); /* the owner's, and ours */
        CHECK_EQ(world_pulled(&once_more), 2);
        CHECK(is_fresh(w));
        CHECK_EQ(s->replicas->rows_wanted, 0);
    }
}

/* An update of ours is under way: its answer ends the wait. And where the replica ends, the owner
 * answers the pull. */
TEST(sources, pull_ends_with_an_answer_or_with_the_replica)
{
    for (int ends = 0; ends < 2; ends++) {
        static struct call c;
        locus_key key[3];
        CLOSED_BY(world_free)
        struct world *w = world_with_replicas(ends ? LOCUS_REPLICATE : LOCUS_ADAPTIVE, key);
        w->now_ns += 1000 * WORLD_MS;
        CHECK(row_add(world_ref(w, ends, key[1]), world_ones) >= 0);
        if (!ends) world_turn(w, 0);
        pull(w, &c, 0, key[1]);
        CHECK(c.request.busy);
        if (ends) world_event(w, 0, INTENT_UNKEEPS, key[1]);
        world_pass(w, ends ? 4 : 1, ends ? 1000 * WORLD_MS : 0);
        CHECK_EQ(world_pulled(&c), 1);
    }
}

TEST(sources, are_fresh_without_replicas_or_without_a_bound)
{
    static struct call c;
    locus_key key[3];
    CLOSED_BY(world_free) struct world *w = world_with_replicas(LOCUS_ADAPTIVE, key);
    bound(w, 0);
    w->now_ns += 1000000 * WORLD_MS;
    pull(w, &c, 0, key[1]);
    CHECK(!c.request.busy);
    world_free(&w);
    w = world_new(LOCUS_ADAPTIVE, 3);
    bound(w, BOUND);
    w->now_ns += 1000000 * WORLD_MS;
    CHECK(is_fresh(w));
    keep(w, 0, key[1]); /* heard of now */
    CHECK(is_fresh(w));
    w->now_ns += BOUND + 1;
    CHECK(!is_fresh(w));
    world_event(w, 0, INTENT_UNKEEPS, key[1]);
    world_pass(w, 4, 1000 * WORLD_MS);
    CHECK(is_fresh(w)); /* there is none any more */
}
