/* look: what a shard says of a key is what is there, and looking changes nothing. */
#include "protocol/look.h"

#include "moving.h"
#include "test.h"

#define MS UINT64_C(1000000)

static struct key_look look(struct world *w, unsigned node, locus_key key)
{
    struct key_look l;
    struct shard *s = &w->node[node].shard;
    shard_look(s, keyspace_index(&s->store->keyspace, key), &l);
    return l;
}

static struct world *managed(void)
{
    struct world *w = world_new_managed(LOCUS_ADAPTIVE, NODES, KEYS, LENGTH, WORKERS, WIDE, 1);
    w->now_ns = 1000 * MS;
    for (unsigned i = 0; i < NODES; i++)
        CHECK((w->node[i].shard.decisions = decisions_new()) != NULL);
    return w;
}

static void intend(struct world *w, unsigned node, unsigned worker, locus_key key,
                   locus_clock start, locus_clock end)
{
    struct shard *s = &w->node[node].shard;
    struct intent_stream *stream = intents_open_stream(s->intents, worker);
    CHECK(stream != NULL);
    w->node[node].waiting_keys += start > 0;
    CHECK_EQ(stream_add(stream, start, end, start > 0, keyspace_index(&s->store->keyspace, key)),
             0);
    stream_publish(stream);
    shard_turn(s, w->now_ns);
}

TEST(look, a_key_that_nobody_has_touched_is_at_its_home)
{
    CLOSED_BY(world_free) struct world *w = managed();
    locus_key key = moving_key_at_home(w, 1);
    struct key_look home = look(w, 1, key), other = look(w, 0, key);
    CHECK(home.is_here && !other.is_here);
    CHECK_EQ(home.owner, 1);
    CHECK_EQ(other.owner, 1);
    CHECK_EQ(home.term, 0);
    CHECK(!other.is_replica && !other.is_asking && !home.is_kept);
    CHECK_EQ(home.wanted + home.holders + home.intents + home.decisions + home.parked, 0);
    CHECK_EQ(home.now_ns, w->now_ns);
    CHECK_EQ(w->node[0].shard.records.used - w->node[0].shard.records.free_count,
             0); /* a look remembers nothing */
}

/* Node 0 has a replica of a row of node 1, which wants it, too. */
static struct world *shared(locus_key *key)
{
    struct world *w = managed();
    *key = moving_key_at_home(w, 1);
    intend(w, 1, 2, *key, 0, 1000);
    intend(w, 0, 3, *key, 0, LOCUS_FOREVER);
    world_deliver_all(w);
    return w;
}

TEST(look, an_owner_names_who_holds_replicas_and_a_holder_its_owner)
{
    locus_key key;
    CLOSED_BY(world_free) struct world *w = shared(&key);
    w->now_ns += 7 * MS;
    struct key_look owner = look(w, 1, key), holder = look(w, 0, key);
    CHECK(owner.is_here && !owner.is_replica);
    CHECK_EQ(owner.holders, 1);
    CHECK_EQ(owner.holder[0].node, 0);
    CHECK(owner.holder[0].is_current && owner.holder[0].is_kept);
    CHECK_EQ(owner.holder[0].brought_ns, 7 * MS);
    CHECK(holder.is_replica && !holder.is_here && !holder.is_asking);
    CHECK_EQ(holder.owner, 1);
    CHECK_EQ(holder.heard_ns, 7 * MS);
    CHECK_EQ(holder.holders, 0);
}

TEST(look, a_holder_is_behind_once_the_main_copy_has_changed)
{
    static const float ones[LENGTH] = {1, 1, 1, 1, 1};
    locus_key key;
    CLOSED_BY(world_free) struct world *w = shared(&key);
    CHECK(row_add(store_row_ref(&w->node[1].store, key), ones) >= 0);
    CHECK(!look(w, 1, key).holder[0].is_current);
}

TEST(look, intents_are_those_of_this_node_with_their_clocks)
{
    locus_key key;
    CLOSED_BY(world_free) struct world *w = shared(&key);
    intend(w, 1, 0, key, 500, 600);
    intend(w, 1, 1, key + 1, 0, 7);
    struct key_look owner = look(w, 1, key), holder = look(w, 0, key);
    CHECK_EQ(owner.intents, 2);
    CHECK_EQ(owner.intent[0].worker, 0);
    CHECK(!owner.intent[0].is_active);
    CHECK_EQ(owner.intent[0].start, 500);
    CHECK_EQ(owner.intent[0].end, 600);
    CHECK_EQ(owner.intent[1].worker, 2);
    CHECK(owner.intent[1].is_active);
    CHECK_EQ(owner.wanted, 1);
    CHECK(!owner.is_kept && !owner.has_more_intents);
    CHECK(holder.is_kept);
    CHECK_EQ(holder.wanted, 0);
}

TEST(look, what_finds_no_room_is_counted)
{
    enum { MORE = 5 };
    CLOSED_BY(world_free) struct world *w = managed();
    locus_key key = moving_key_at_home(w, 0);
    struct shard *s = &w->node[0].shard;
    struct row_ref ref = store_row_ref(&w->node[0].store, key);
    struct record *r = record_get(&s->records, ref.index);
    for (unsigned node = 1; node <= LOOK_HOLDERS_MAX + MORE; node++) holders_add(r, ref, node);
    for (int i = 0; i <= LOOK_INTENTS_MAX; i++) intend(w, 0, 0, key, 100 + i, 1000);
    struct key_look l = look(w, 0, key);
    CHECK_EQ(l.holders, LOOK_HOLDERS_MAX);
    CHECK_EQ(l.more_holders, MORE);
    CHECK_EQ(l.holder[LOOK_HOLDERS_MAX - 1].node, LOOK_HOLDERS_MAX);
    CHECK_EQ(l.intents, LOOK_INTENTS_MAX);
    CHECK(l.has_more_intents);
}

TEST(look, decisions_are_those_of_the_key_and_only_where_they_are_kept)
{
    locus_key key;
    CLOSED_BY(world_free) struct world *w = shared(&key);
    struct key_look owner = look(w, 1, key), holder = look(w, 0, key);
    CHECK_EQ(owner.decisions, 1);
    CHECK_EQ(owner.decision[0].kind, DECISION_SHARED);
    CHECK_EQ(owner.decision[0].node, 0);
    CHECK_EQ(owner.decision[0].ns, w->now_ns);
    CHECK_EQ(holder.decisions, 2);
    CHECK_EQ(holder.decision[0].kind, DECISION_ASKED);
    CHECK_EQ(holder.decision[0].end, LOCUS_FOREVER);
    CHECK_EQ(holder.decision[1].kind, DECISION_COPIED);
    CHECK_EQ(look(w, 2, key).decisions, 0);
    decisions_free(w->node[1].shard.decisions);
    w->node[1].shard.decisions = NULL;
    CHECK_EQ(look(w, 1, key).decisions, 0);
}

/* Node 0 owns it, and does not have it yet; what others ask of it waits there. */
TEST(look, a_row_on_its_way_has_an_owner_and_is_not_here)
{
    static struct call taker, late[2];
    CLOSED_BY(world_free) struct world *w = moving_world(NODES, 1);
    locus_key key = moving_key_at_home(w, 1);
    moving_begin_slowly(w, key, &taker);
    struct key_look l = look(w, 0, key);
    CHECK(!l.is_here && !l.is_replica);
    CHECK_EQ(l.parked, 0);
    for (unsigned i = 0; i < 2; i++) moving_ask_pull(w, &late[i], 3, i, 0, key);
    moving_travel(w, "310");
    CHECK_EQ(look(w, 0, key).parked, 2);
    CHECK_EQ(look(w, 1, key).owner, 0);
    world_deliver_all(w);
    l = look(w, 0, key);
    CHECK(l.is_here);
    CHECK_EQ(l.owner, 0);
    CHECK_EQ(l.parked, 0);
    CHECK_EQ(l.term, 2);
    CHECK_EQ(moving_pulled(&late[0]), 100);
}
