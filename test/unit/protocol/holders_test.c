#include "protocol/owner.h"

#include "test.h"
#include "world.h"

/* Of a row at node 0, more than the record itself has room for. */
TEST(holders, add_find_and_remove_as_many_as_there_are_nodes)
{
    enum { MANY = 300 };
    CLOSED_BY(world_free) struct world *w = world_new(LOCUS_ADAPTIVE, 2);
    struct row_ref ref = world_ref(w, 0, world_key(w, 0));
    struct record *r = record_get(&w->node[0].shard.records, ref.index);
    CHECK(holder_find(r, 1) == NULL);
    for (unsigned node = 1; node < MANY; node++) {
        CHECK_EQ(holders_add(r, ref, node)->seen, 0); /* nothing yet */
        holder_find(r, node)->seen = node;
        CHECK_EQ(holders_add(r, ref, node)->seen, node); /* the one that is there */
    }
    for (unsigned node = MANY; node-- > 1;) {
        CHECK_EQ(holder_find(r, node)->node, node);
        CHECK_EQ(holder_find(r, 1)->seen, 1);
        holders_remove(r, ref, node);
        holders_remove(r, ref, node);
        CHECK(holder_find(r, node) == NULL);
        CHECK_EQ(r->holders, node - 1);
    }
    CHECK(record_is_empty(r));
}

TEST(holders, version_rises_by_one_when_a_look_finds_the_row_changed)
{
    CLOSED_BY(world_free) struct world *w = world_new(LOCUS_ADAPTIVE, 2);
    struct row_ref ref = world_ref(w, 0, world_key(w, 0));
    struct record *r = record_get(&w->node[0].shard.records, ref.index);
    holders_add(r, ref, 1);
    uint64_t first = holders_version(r, ref);
    CHECK(first > 0);
    CHECK_EQ(holders_version(r, ref), first);
    for (int i = 0; i < 2; i++) CHECK(row_add(ref, world_ones) >= 0); /* two changes, one look */
    CHECK_EQ(holders_version(r, ref), first + 1);
    holders_remove(r, ref, 1);
    CHECK_EQ(r->version, 0);
}
