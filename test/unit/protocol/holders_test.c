#include "protocol/holders.h"

#include "test.h"
#include "world.h"

enum { KEYS = 64, LENGTH = 3, NODES = 4 };

static const float ones[LENGTH] = {1, 1, 1};

struct scene {
    struct world *world;
    struct shard *shard; /* of node 0 */
    struct row_ref ref;  /* here */
    struct record *record;
};

static struct scene scene(enum locus_technique technique)
{
    struct scene s = {.world = world_new_managed(technique, NODES, KEYS, LENGTH, 1, 1 << 20, 1)};
    struct world_node *n = &s.world->node[0];
    locus_key key = 0;
    while (row_ref_home(store_row_ref(&n->store, key)) != 0) key++;
    s.shard = &n->shard;
    s.ref = store_row_ref(&n->store, key);
    s.record = record_get(&n->shard.records, s.ref.index);
    return s;
}

static void scene_end(struct scene *s)
{
    world_free(&s->world);
}

TEST(holders, are_found_until_they_are_removed)
{
    CLOSED_BY(scene_end) struct scene s = scene(LOCUS_ADAPTIVE);
    CHECK(holder_find(s.record, 1) == NULL);
    struct holder *one = holders_add(s.record, s.ref, 1);
    CHECK_EQ(one->node, 1);
    CHECK_EQ(one->seen, 0); /* nothing yet */
    one->seen = 5;
    CHECK_EQ(holders_add(s.record, s.ref, 1)->seen, 5); /* the one that is there */
    holders_add(s.record, s.ref, 3);
    holders_add(s.record, s.ref, 2);
    CHECK_EQ(s.record->holders, 3);
    holders_remove(s.record, s.ref, 1);
    holders_remove(s.record, s.ref, 1);
    CHECK(holder_find(s.record, 1) == NULL);
    CHECK_EQ(holder_find(s.record, 2)->node, 2);
    CHECK_EQ(holder_find(s.record, 3)->node, 3);
    holders_remove(s.record, s.ref, 2);
    holders_remove(s.record, s.ref, 3);
    CHECK_EQ(s.record->holders, 0);
    CHECK(record_is_empty(s.record));
}

TEST(holders, as_many_as_there_are_nodes)
{
    enum { MANY = 300 };
    CLOSED_BY(scene_end) struct scene s = scene(LOCUS_ADAPTIVE);
    for (unsigned node = 1; node < MANY; node++) holders_add(s.record, s.ref, node)->seen = node;
    for (unsigned node = 1; node < MANY; node++) CHECK_EQ(holder_find(s.record, node)->seen, node);
    for (unsigned node = 1; node < MANY; node++) holders_remove(s.record, s.ref, node);
    CHECK_EQ(s.record->holders, 0);
}

TEST(holders, the_version_rises_when_a_look_finds_the_row_changed)
{
    CLOSED_BY(scene_end) struct scene s = scene(LOCUS_ADAPTIVE);
    CHECK(row_add(s.ref, ones) >= 0); /* before there is a holder: not seen */
    holders_add(s.record, s.ref, 1);
    uint64_t first = holders_version(s.record, s.ref);
    CHECK(first > 0);
    CHECK_EQ(holders_version(s.record, s.ref), first);
    CHECK(row_add(s.ref, ones) >= 0);
    CHECK(row_add(s.ref, ones) >= 0);
    CHECK_EQ(holders_version(s.record, s.ref), first + 1); /* two changes, one look */
    CHECK_EQ(holders_version(s.record, s.ref), first + 1);
    holders_remove(s.record, s.ref, 1);
    CHECK_EQ(s.record->version, 0);
}

TEST(holders, of_full_replication_are_all_others)
{
    CLOSED_BY(scene_end) struct scene s = scene(LOCUS_FULL_REPLICATION);
    holders_add_all(s.shard, s.record, s.ref);
    holders_add_all(s.shard, s.record, s.ref);
    CHECK_EQ(s.record->holders, NODES - 1);
    CHECK(holder_find(s.record, 0) == NULL);
    for (unsigned node = 1; node < NODES; node++) CHECK(holder_find(s.record, node) != NULL);
    scene_end(&s);
    s = scene(LOCUS_ADAPTIVE);
    holders_add_all(s.shard, s.record, s.ref);
    CHECK_EQ(s.record->holders, 0);
}
