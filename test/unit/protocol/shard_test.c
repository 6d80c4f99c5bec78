#include "protocol/origin.h"
#include "test.h"
#include "world.h"

#include <errno.h>

enum { KEYS = 64, LENGTH = 5, WORKERS = 3, ITEMS = 6 };

/* A key whose home is another node. */
static locus_key remote_key(struct world *w, unsigned rank)
{
    for (;;) {
        locus_key key = world_random(w, KEYS);
        if (row_ref_home(store_row_ref(&w->node[rank].store, key)) != rank) return key;
    }
}

TEST(shard, used_up_credit_holds_a_request_back_until_answers_come)
{
    struct world *w =
        world_new(2, KEYS, LENGTH, WORKERS, wire_entry_bytes(LENGTH) + wire_entry_bytes(0), 7);
    locus_key key = remote_key(w, 0);
    float values[2][LENGTH] = {{1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}};
    struct request_item item[2] = {{.key = key, .values = values[0]},
                                   {.key = key, .values = values[1]}};
    struct request r = {0};
    const char *why;
    world_request(&r, 1, 2, REQUEST_PUSH, item, 2);
    CHECK(!shard_serve(&w->node[0].shard, &r));
    CHECK_EQ(r.sent, 1);
    CHECK(!shard_serve(&w->node[0].shard, &r));
    while (world_step(w, &why)) CHECK(why == NULL);
    CHECK(shard_serve(&w->node[0].shard, &r));
    world_deliver_all(w);
    CHECK_EQ(w->node[0].completed, 1);
    world_free(w);
}

TEST(shard, the_loss_of_a_node_completes_every_request)
{
    struct world *w =
        world_new(3, KEYS, LENGTH, WORKERS, wire_entry_bytes(LENGTH) + wire_entry_bytes(0), 9);
    float values[ITEMS][LENGTH] = {{0}};
    struct request_item item[ITEMS];
    struct request sent = {0}, held = {0}, later = {0};
    for (int i = 0; i < ITEMS; i++)
        item[i] = (struct request_item){.key = remote_key(w, 0), .values = values[i]};
    world_request(&sent, 0, 0, REQUEST_PULL, item, 1);
    world_request(&held, 1, 0, REQUEST_PULL, item, ITEMS);
    CHECK(shard_serve(&w->node[0].shard, &sent));
    CHECK(!shard_serve(&w->node[0].shard, &held));
    shard_fail(&w->node[0].shard, -ECONNRESET);
    CHECK_EQ(w->node[0].completed, 1);
    CHECK(shard_serve(&w->node[0].shard, &held));
    world_request(&later, 2, 1, REQUEST_PUSH, item, 1);
    CHECK(shard_serve(&w->node[0].shard, &later));
    CHECK_EQ(w->node[0].completed, 3);
    CHECK_EQ(w->node[0].last_rc, -ECONNRESET);
    world_deliver_all(w); /* answers that still arrive are for nobody */
    world_free(w);
}
