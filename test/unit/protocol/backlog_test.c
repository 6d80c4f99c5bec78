/* Keys that wait for a round with a peer. What rounds take, and when: round_test, test/sim. */
#include "protocol/backlog.h"

#include "test.h"
#include "world.h"

TEST(backlog, list_gives_keys_in_their_order)
{
    CLOSED_BY(world_free) struct world *w = world_new(LOCUS_ADAPTIVE, 2);
    struct shard *s = &w->node[0].shard;
    struct index_list *l = &s->backlog->peer[1].refresh;
    uint64_t in = 0, out = 0;
    for (int i = 0; i < 20; i++) { /* more and more wait, and the list moves in its memory */
        for (int k = 0; k < 50; k++) backlog_add_refresh(s, 1, in++);
        for (int k = 0; k < 30; k++) CHECK_EQ(list_pop(s->backlog, l), out++);
        CHECK_EQ(list_length(l), in - out);
        CHECK_EQ(s->backlog->waiting, in - out);
    }
    CHECK(l->capacity <= 4 * (in - out)); /* not of all that ever waited */
    while (list_length(l) > 0) CHECK_EQ(list_pop(s->backlog, l), out++);
    CHECK_EQ(out, in);
    CHECK_EQ(l->first, 0); /* it begins anew: no memory for what is gone */
}

TEST(backlog, key_waits_once_in_each_class)
{
    CLOSED_BY(world_free) struct world *w = world_new(LOCUS_ADAPTIVE, 3);
    struct shard *s = &w->node[0].shard;
    struct record *r = record_get(&s->records, 7);
    for (int i = 0; i < 2; i++) {
        backlog_add(s, r, 1, BACKLOG_LAZY);
        backlog_add(s, r, 1, BACKLOG_URGENT);
        backlog_add(s, r, 2, BACKLOG_RECALL);
    }
    CHECK_EQ(list_length(&s->backlog->peer[1].lazy), 1);
    CHECK_EQ(list_length(&s->backlog->peer[1].urgent), 1);
    CHECK_EQ(list_length(&s->backlog->peer[2].recall), 1);
    CHECK_EQ(s->backlog->waiting, 3);
}
