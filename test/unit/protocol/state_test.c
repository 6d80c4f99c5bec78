#include "protocol/state.h"

#include "test.h"
#include "world.h"

enum { KEYS = 64, LENGTH = 3 };

static struct world *one(void)
{
    return world_new_managed(LOCUS_ADAPTIVE, 2, KEYS, LENGTH, 2, 1 << 20, 1);
}

/* In the order in which they were woken, each once, for all roles that were named. */
TEST(state, who_is_woken_twice_is_considered_once)
{
    CLOSED_BY(world_free) struct world *w = one();
    struct shard *s = &w->node[0].shard;
    struct record *a = record_get(&s->records, 1), *b = record_get(&s->records, 2),
                  *c = record_get(&s->records, 3);
    shard_wake(s, b, WOKEN_ORIGIN);
    shard_wake(s, a, WOKEN_OWNER);
    shard_wake(s, b, WOKEN_REPLICA);
    shard_wake(s, c, WOKEN_REPLICA);
    shard_wake(s, a, WOKEN_OWNER);
    const struct record *order[] = {b, a, c};
    const unsigned roles[] = {WOKEN_ORIGIN | WOKEN_REPLICA, WOKEN_OWNER, WOKEN_REPLICA};
    uint32_t number = s->woken_first;
    for (int i = 0; i < 3; i++) {
        const struct record *r = record_at(&s->records, number);
        CHECK(r == order[i]);
        CHECK_EQ(r->woken, roles[i]);
        number = r->woken_next;
    }
    CHECK_EQ(number, 0);
    step(s);
    CHECK_EQ(s->woken_first, 0);
    CHECK_EQ(s->records.used - s->records.free_count, 0); /* there was nothing to remember */
}

TEST(state, only_a_first_intent_can_wait)
{
    CLOSED_BY(world_free) struct world *w = one();
    struct shard *s = &w->node[0].shard;
    struct wire_entry e = {.operation = WIRE_SYNC, .flags = WIRE_BEGIN, .slack_us = 7};
    s->now_ns = 1000;
    CHECK_EQ(shard_can_wait_until(s, &e), 8000);
    e.slack_us = UINT32_MAX;
    CHECK_EQ(shard_can_wait_until(s, &e), 1000 + UINT64_C(1000) * WIRE_SLACK_US_MAX);
    e.slack_us = 0;
    CHECK_EQ(shard_can_wait_until(s, &e), 0);
    e.slack_us = 7;
    e.flags = 0;
    CHECK_EQ(shard_can_wait_until(s, &e), 0);
    e.flags = WIRE_BEGIN;
    e.operation = WIRE_PULL;
    CHECK_EQ(shard_can_wait_until(s, &e), 0);
    e.operation = WIRE_SYNC;
    s->quiescing = 1;
    CHECK_EQ(shard_can_wait_until(s, &e), 0);
}

TEST(state, clocks_are_the_workers_and_0_where_there_are_no_intents)
{
    struct world *w = one(), *none = world_new(2, KEYS, LENGTH, 2, 1 << 20, 1);
    w->node[0].clock[1] = 17;
    CHECK_EQ(shard_clock(&w->node[0].shard, 0), 0);
    CHECK_EQ(shard_clock(&w->node[0].shard, 1), 17);
    CHECK_EQ(shard_clock(&none->node[0].shard, 1), 0);
    world_free(&w);
    world_free(&none);
}
