/* snapshot: what a shard says of a key is what is there, and asking changes nothing. */
#include "actors/actor.h"

#include "protocol/world.h"
#include "test.h"

enum { NODES = 4 };

static struct key_snapshot snapshot_of(struct world *w, unsigned node, locus_key key)
{
    struct key_snapshot l;
    shard_snapshot(&w->node[node].shard, world_ref(w, node, key).index, &l);
    return l;
}

static struct world *managed(void)
{
    struct world *w =
        world_open((struct world_config){LOCUS_ADAPTIVE, NODES, .workers = WORLD_WORKERS_MAX});
    w->now_ns = 1000 * WORLD_MS;
    return w;
}

TEST(snapshot, key_that_nobody_has_touched_is_at_its_home)
{
    CLOSED_BY(world_free) struct world *w = managed();
    locus_key key = world_key(w, 1);
    struct key_snapshot home = snapshot_of(w, 1, key), other = snapshot_of(w, 0, key);
    CHECK(home.is_here && !other.is_here);
    CHECK_EQ(home.owner, 1);
    CHECK_EQ(other.owner, 1);
    CHECK_EQ(home.term, 0);
    CHECK(!other.is_replica && !other.is_asking && !home.is_kept);
    CHECK_EQ(home.wanted + home.holders + home.parked, 0);
    CHECK_EQ(home.now_ns, w->now_ns);
    CHECK_EQ(world_records(w, 0), 0); /* asking remembers nothing */
}

/* Node 0 has a replica of a row of node 1, which wants it, too. */
static struct world *shared(locus_key *key)
{
    struct world *w = managed();
    *key = world_key(w, 1);
    world_intend(w, 1, 2, *key, 0, 1000);
    world_intend(w, 0, 3, *key, 0, LOCUS_FOREVER);
    world_deliver_all(w);
    return w;
}

TEST(snapshot, owner_names_its_holders_and_holder_its_owner)
{
    locus_key key;
    CLOSED_BY(world_free) struct world *w = shared(&key);
    w->now_ns += 7 * WORLD_MS;
    struct key_snapshot owner = snapshot_of(w, 1, key), holder = snapshot_of(w, 0, key);
    CHECK(owner.is_here && !owner.is_replica);
    CHECK_EQ(owner.holders, 1);
    CHECK_EQ(owner.holder[0].node, 0);
    CHECK(owner.holder[0].is_current && owner.holder[0].is_kept);
    CHECK_EQ(owner.holder[0].brought_ns, 7 * WORLD_MS);
    CHECK(holder.is_replica && !holder.is_here && !holder.is_asking);
    CHECK_EQ(holder.owner, 1);
    CHECK_EQ(holder.heard_ns, 7 * WORLD_MS);
    CHECK_EQ(holder.holders, 0);
    CHECK(row_add(world_ref(w, 1, key), world_ones) >= 0);
    CHECK(!snapshot_of(w, 1, key).holder[0].is_current); /* it is behind */
}

TEST(snapshot, intents_of_this_node_are_counted)
{
    locus_key key;
    CLOSED_BY(world_free) struct world *w = shared(&key);
    world_intend(w, 1, 0, key, 500, 600);
    world_intend(w, 1, 1, key + 1, 0, 7);
    struct key_snapshot owner = snapshot_of(w, 1, key), holder = snapshot_of(w, 0, key);
    CHECK_EQ(owner.wanted, 1);
    CHECK(!owner.is_kept);
    CHECK(holder.is_kept);
    CHECK_EQ(holder.wanted, 0);
}

TEST(snapshot, holders_beyond_the_room_are_counted)
{
    enum { MORE = 5 };
    CLOSED_BY(world_free) struct world *w = managed();
    locus_key key = world_key(w, 0);
    struct row_ref ref = world_ref(w, 0, key);
    struct record *r = record_get(&w->node[0].shard.records, ref.index);
    for (unsigned node = 1; node <= SNAPSHOT_HOLDERS_MAX + MORE; node++) holders_add(r, ref, node);
    struct key_snapshot l = snapshot_of(w, 0, key);
    CHECK_EQ(l.holders, SNAPSHOT_HOLDERS_MAX);
    CHECK_EQ(l.more_holders, MORE);
    CHECK_EQ(l.holder[SNAPSHOT_HOLDERS_MAX - 1].node, SNAPSHOT_HOLDERS_MAX);
}

/* Node 0 owns it, and does not have it yet; what others ask of it waits there. */
TEST(snapshot, row_on_its_way_has_an_owner_and_is_not_here)
{
    static struct call taker, late[2];
    CLOSED_BY(world_free) struct world *w = world_new(LOCUS_RELOCATE, NODES);
    locus_key key = world_key(w, 1);
    world_run(w, 2, REQUEST_LOCALIZE, key, 0);
    world_ask(w, &taker, 0, 0, REQUEST_LOCALIZE, key, 0);
    world_travel(w, "0121");
    struct key_snapshot l = snapshot_of(w, 0, key);
    CHECK(!l.is_here && !l.is_replica);
    CHECK_EQ(l.parked, 0);
    for (unsigned i = 0; i < 2; i++) world_ask(w, &late[i], 3 - 2 * i, 0, REQUEST_PULL, key, 0);
    world_travel(w, "310");
    CHECK_EQ(snapshot_of(w, 0, key).parked, 2);
    CHECK_EQ(snapshot_of(w, 1, key).owner, 0);
    world_deliver_all(w);
    l = snapshot_of(w, 0, key);
    CHECK(l.is_here);
    CHECK_EQ(l.owner, 0);
    CHECK_EQ(l.parked, 0);
    CHECK_EQ(l.term, 2);
}
