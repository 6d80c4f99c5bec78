#include "protocol/backlog.h"

#include "test.h"
#include "world.h"

enum { KEYS = 200, LENGTH = 2, NODES = 4 };

struct scene {
    struct world *world;
    struct shard *shard; /* of node 0 */
    struct backlog *backlog;
};

static struct scene scene(void)
{
    struct scene s = {
        .world = world_new_managed(LOCUS_ADAPTIVE, NODES, KEYS, LENGTH, 1, 1 << 20, 1)};
    s.shard = &s.world->node[0].shard;
    s.backlog = s.shard->backlog;
    return s;
}

static void scene_end(struct scene *s)
{
    world_free(&s->world);
}

static struct record *record_of(struct scene *s, uint64_t index)
{
    return record_get(&s->shard->records, index);
}

static bool is_soon(const struct scene *s, unsigned peer)
{
    return s->backlog->soon[0] >> peer & 1;
}

static bool is_later(const struct scene *s, unsigned peer)
{
    return s->backlog->later[0] >> peer & 1;
}

TEST(backlog, keys_come_out_in_their_order)
{
    CLOSED_BY(scene_end) struct scene s = scene();
    struct index_list *l = &s.backlog->peer[1].refresh;
    uint64_t in = 0, out = 0;
    for (int i = 0; i < 20; i++) { /* more and more wait, and the list moves in its memory */
        for (int k = 0; k < 50; k++) backlog_add_refresh(s.shard, 1, in++);
        for (int k = 0; k < 30; k++) CHECK_EQ(list_pop(s.backlog, l), out++);
        CHECK_EQ(list_length(l), in - out);
        CHECK_EQ(s.backlog->waiting, in - out);
    }
    CHECK_EQ(s.backlog->peer[1].refreshes_queued, in);
    while (list_length(l) > 0) CHECK_EQ(list_pop(s.backlog, l), out++);
    CHECK_EQ(out, in);
    CHECK_EQ(l->first, 0); /* it begins anew: no memory for what is gone */
}

TEST(backlog, a_key_waits_once_in_each_class)
{
    CLOSED_BY(scene_end) struct scene s = scene();
    struct record *r = record_of(&s, 7);
    for (int i = 0; i < 2; i++) {
        backlog_add_sync(s.shard, r, 1, BACKLOG_LAZY);
        backlog_add_sync(s.shard, r, 1, BACKLOG_URGENT);
        backlog_add_recall(s.shard, r, 2);
    }
    CHECK_EQ(list_length(&s.backlog->peer[1].lazy), 1);
    CHECK_EQ(list_length(&s.backlog->peer[1].urgent), 1);
    CHECK_EQ(list_length(&s.backlog->peer[2].recall), 1);
    CHECK_EQ(s.backlog->waiting, 3);
}

TEST(backlog, a_turn_looks_at_whom_something_waits_for)
{
    CLOSED_BY(scene_end) struct scene s = scene();
    backlog_add_sync(s.shard, record_of(&s, 1), 1, BACKLOG_URGENT);
    backlog_add_sync(s.shard, record_of(&s, 2), 2, BACKLOG_LAZY);
    CHECK(is_soon(&s, 1) && !is_later(&s, 1));
    CHECK(!is_soon(&s, 2) && is_later(&s, 2));
    CHECK(!is_soon(&s, 3) && !is_later(&s, 3));
    backlog_owes(s.shard, 3);
    CHECK(!is_soon(&s, 3) && is_later(&s, 3));
    s.backlog->peer[2].goes_on = true; /* the last round was full */
    backlog_note(s.shard, 2);
    CHECK(is_soon(&s, 2));
}

TEST(backlog, nobody_looks_at_whose_round_is_under_way)
{
    CLOSED_BY(scene_end) struct scene s = scene();
    s.backlog->peer[1].is_under_way = true;
    backlog_add_sync(s.shard, record_of(&s, 1), 1, BACKLOG_URGENT);
    backlog_add_refresh(s.shard, 1, 2);
    CHECK(!is_soon(&s, 1) && !is_later(&s, 1));
    s.backlog->peer[1].is_under_way = false;
    backlog_note(s.shard, 1);
    CHECK(is_soon(&s, 1) && is_later(&s, 1));
}

TEST(backlog, what_is_put_off_is_looked_at_again)
{
    CLOSED_BY(scene_end) struct scene s = scene();
    CHECK(!s.backlog->puts_off);
    backlog_put_off(s.shard, 5);
    CHECK(s.backlog->puts_off);
    CHECK_EQ(s.backlog->waiting, 0);
}
