#include "protocol/sources.h"

#include "protocol/location.h"
#include "test.h"
#include "world.h"

enum { LENGTH = 4, KEYS = 64 };
#define MS UINT64_C(1000000)
#define BOUND (100 * MS)

static const float ones[LENGTH] = {1, 1, 1, 1};

static struct row_ref row_ref_at(struct world *w, unsigned node, locus_key key)
{
    return store_row_ref(&w->node[node].store, key);
}

static locus_key key_of(struct world *w, unsigned home)
{
    locus_key key = 0;
    while (row_ref_home(row_ref_at(w, 0, key)) != home) key++;
    return key;
}

static void keep(struct world *w, unsigned node, locus_key key)
{
    shard_intent(
        &w->node[node].shard,
        &(struct intent_event){.kind = INTENT_KEEPS,
                               .index = keyspace_index(&w->node[node].store.keyspace, key)});
    shard_turn(&w->node[node].shard, w->now_ns);
    world_deliver_all(w);
}

static void bound(struct world *w, uint64_t ns)
{
    for (unsigned n = 0; n < w->nodes; n++) {
        w->node[n].shard.sources->bound_ns = ns;
        sources_publish(&w->node[n].shard);
    }
}

/* Node 0 holds a replica of a key of node 1, and one of a key of node 2. */
static struct world *world_with_replicas(enum locus_technique technique, locus_key key[3])
{
    struct world *w = world_new_managed(technique, 3, KEYS, LENGTH, 1, 1 << 20, 1);
    w->now_ns = 1000 * MS;
    for (unsigned n = 1; n < 3; n++) key[n] = key_of(w, n);
    if (technique != LOCUS_FULL_REPLICATION)
        for (unsigned n = 1; n < 3; n++) keep(w, 0, key[n]);
    bound(w, BOUND);
    for (unsigned n = 1; n < 3; n++) shard_heartbeat(&w->node[0].shard, n);
    return w;
}

static bool is_fresh(struct world *w)
{
    return sources_are_fresh(w->node[0].shard.sources, w->now_ns);
}

struct pull {
    struct request request;
    struct request_item item;
    float row[LENGTH];
};

static void begin_pull(struct world *w, struct pull *p, unsigned number, locus_key key)
{
    *p = (struct pull){.item = {.key = key}};
    p->item.values = p->row;
    world_request(&p->request, 0, number, REQUEST_PULL, &p->item, 1);
    CHECK(shard_serve(&w->node[0].shard, &p->request));
}

static void pulls_wait_for_the_silent(enum locus_technique technique)
{
    static struct pull of_silent, once_more, of_speaking;
    locus_key key[3];
    CLOSED_BY(world_free) struct world *w = world_with_replicas(technique, key);
    struct shard *s = &w->node[0].shard;
    CHECK(is_fresh(w));
    w->now_ns += BOUND;
    CHECK(is_fresh(w)); /* not for longer */
    shard_heartbeat(s, 2);
    CHECK(is_fresh(w));
    w->now_ns += 1;
    CHECK(!is_fresh(w)); /* node 1 is silent */
    begin_pull(w, &of_speaking, 0, key[2]);
    CHECK_EQ(of_speaking.request.busy, 0); /* the shard knows better than all its workers */
    CHECK_EQ(row_add(row_ref_at(w, 0, key[1]), ones), ROW_ON_REPLICA);
    CHECK_EQ(row_add(row_ref_at(w, 1, key[1]), ones), 0);
    begin_pull(w, &of_silent, 1, key[1]);
    begin_pull(w, &once_more, 2, key[1]);
    CHECK_EQ(of_silent.request.busy, 1);
    CHECK_EQ(s->counters.pulled_too_old, 2); /* and not the one that was served */
    shard_turn(s, w->now_ns);                /* and nobody looks for ever */
    CHECK_EQ(of_silent.request.busy, 1);
    world_deliver_all(w);
    CHECK_EQ(of_silent.request.busy, 0);
    CHECK_EQ(once_more.request.busy, 0);
    CHECK(of_silent.row[0] == 2 && once_more.row[LENGTH - 1] == 2); /* the owner's, and ours */
    CHECK(is_fresh(w));
    CHECK_EQ(s->replicas->rows_wanted, 0);
}

TEST(sources, pulls_of_replicas_wait_for_owners_that_are_silent)
{
    pulls_wait_for_the_silent(LOCUS_ADAPTIVE);
    pulls_wait_for_the_silent(LOCUS_RELOCATE);
    pulls_wait_for_the_silent(LOCUS_FULL_REPLICATION);
}

/* An update of ours is under way to the owner that is silent: its answer ends the wait, too. */
TEST(sources, a_pull_behind_an_update_under_way_waits_for_its_answer)
{
    static struct pull p;
    locus_key key[3];
    CLOSED_BY(world_free) struct world *w = world_with_replicas(LOCUS_ADAPTIVE, key);
    struct shard *s = &w->node[0].shard;
    CHECK_EQ(row_add(row_ref_at(w, 0, key[1]), ones), ROW_ON_REPLICA);
    w->now_ns += 1000 * MS;
    shard_turn(s, w->now_ns);
    CHECK(record_find(&s->records, keyspace_index(&w->node[0].store.keyspace, key[1]))->sync);
    begin_pull(w, &p, 0, key[1]);
    CHECK_EQ(p.request.busy, 1);
    world_deliver_all(w);
    CHECK_EQ(p.request.busy, 0);
    CHECK(p.row[0] == 1);
}

/* The replica ends while a pull waits: the pull goes to the owner. */
TEST(sources, a_pull_whose_replica_ends_goes_to_the_owner)
{
    static struct pull p;
    locus_key key[3];
    CLOSED_BY(world_free) struct world *w = world_with_replicas(LOCUS_REPLICATE, key);
    struct shard *s = &w->node[0].shard;
    w->now_ns += 1000 * MS;
    begin_pull(w, &p, 0, key[1]);
    CHECK_EQ(p.request.busy, 1);
    shard_intent(
        s, &(struct intent_event){.kind = INTENT_UNKEEPS,
                                  .index = keyspace_index(&w->node[0].store.keyspace, key[1])});
    CHECK_EQ(row_add(row_ref_at(w, 1, key[1]), ones), 0);
    for (int i = 0; i < 4; i++) {
        shard_turn(s, w->now_ns += 1000 * MS);
        world_deliver_all(w);
    }
    CHECK_EQ(p.request.busy, 0);
    CHECK(p.row[0] == 1);
}

TEST(sources, without_replicas_or_without_a_bound_nothing_is_too_old)
{
    static struct pull p;
    locus_key key[3];
    CLOSED_BY(world_free) struct world *w = world_with_replicas(LOCUS_ADAPTIVE, key);
    bound(w, 0);
    w->now_ns += 1000000 * MS;
    begin_pull(w, &p, 0, key[1]);
    CHECK_EQ(p.request.busy, 0);
    world_free(&w);
    w = world_new_managed(LOCUS_ADAPTIVE, 3, KEYS, LENGTH, 1, 1 << 20, 1);
    bound(w, BOUND);
    w->now_ns += 1000000 * MS;
    CHECK(is_fresh(w));
    keep(w, 0, key_of(w, 1)); /* heard of now */
    CHECK(is_fresh(w));
    w->now_ns += BOUND + 1;
    CHECK(!is_fresh(w));
    shard_intent(
        &w->node[0].shard,
        &(struct intent_event){.kind = INTENT_UNKEEPS,
                               .index = keyspace_index(&w->node[0].store.keyspace, key_of(w, 1))});
    for (int i = 0; i < 4; i++) {
        shard_turn(&w->node[0].shard, w->now_ns += 1000 * MS);
        world_deliver_all(w);
    }
    CHECK(is_fresh(w)); /* there is none any more */
}
