/* Replicas, where nodes are slow, floats round, and little happens for a long time. */
#include "common/stores.h"
#include "protocol/replica.h"
#include "test.h"
#include "world.h"

enum { LENGTH = WORLD_LENGTH };

/* Node 0 has a replica of a row of node 1. */
static struct world *shared(locus_key *key)
{
    struct world *w = world_new(LOCUS_ADAPTIVE, 2);
    *key = world_key(w, 1);
    world_intend(w, 1, 0, *key, 0, 1000);
    world_intend(w, 0, 0, *key, 0, 100);
    world_deliver_all(w);
    CHECK(world_is_replica(w, 0, *key));
    return w;
}

/* The owner answers the intent before the push: the replica comes without it, and its refresh may
 * wait for long. */
TEST(replica, push_that_it_lacks_does_not_wait_for_the_pacer)
{
    static struct call c;
    CLOSED_BY(world_free) struct world *w = world_new(LOCUS_ADAPTIVE, 2);
    locus_key key = world_key(w, 1);
    world_intend(w, 1, 0, key, 0, 1000);
    world_intend(w, 0, 0, key, 0, 100);
    world_ask(w, &c, 0, 0, REQUEST_PUSH, key, 1);
    for (unsigned n = 0; n < 2; n++) w->node[n].shard.pacer->due_ns = w->now_ns + 50 * WORLD_MS;
    world_travel(w, "010");
    CHECK(world_is_replica(w, 0, key) && c.request.busy);
    world_turn(w, 0);
    world_travel(w, "010");
    CHECK(!c.request.busy);
    CHECK(world_value(w, 0, key) == 1);
    world_deliver_all(w);
}

static const struct wire_entry *row_under_way(const struct world_link *l)
{
    const struct wire_entry *e;
    const char *why;
    for (unsigned i = 0; i < l->count; i++) {
        const struct world_frame *f = &l->frame[(l->first + i) % WORLD_FRAMES_MAX];
        struct wire_cursor c = wire_cursor(&f->header, f->body);
        while ((e = wire_next(&c, &why)))
            if (e->operation == WIRE_ROW) return e;
    }
    test_fail(__FILE__, __LINE__, "no row is under way");
}

/* A holder says which version it has; what the only one has need not travel when the row goes
 * there. */
TEST(replica, row_goes_to_one_as_good_without_values)
{
    for (int stale = 0; stale < 2; stale++) {
        locus_key key;
        CLOSED_BY(world_free) struct world *w = shared(&key);
        CHECK_EQ(row_add(world_ref(w, 0, key), world_ones), ROW_ON_REPLICA);
        w->node[1].clock[0] = 1000;
        world_turn(w, 1); /* its intent has expired: a recall */
        world_travel(w, "10");
        CHECK_EQ(row_add(world_ref(w, 0, key), world_ones), ROW_ON_REPLICA);
        world_turn(w, 0);
        CHECK_EQ(row_add(world_ref(w, 0, key), world_ones), ROW_ON_REPLICA);
        if (stale) CHECK_EQ(row_add(world_ref(w, 1, key), world_ones), 0);
        world_travel(w, "01");
        CHECK_EQ(row_under_way(&w->link[1][0])->length, stale ? LENGTH : 0);
        world_deliver_all(w);
        CHECK(world_known(w, 0, key).is_here);
        CHECK(world_value(w, 0, key) == 3.0F + (float)stale);
    }
}

static void quiesce(struct world *w, enum request_kind kind)
{
    static struct request r[2];
    for (unsigned n = 0; n < 2; n++) {
        world_request(&r[n], 0, kind, NULL, 0);
        CHECK(shard_serve(&w->node[n].shard, &r[n]));
    }
    world_pass(w, 8, 0);
    for (unsigned n = 0; n < 2; n++) CHECK_EQ(r[n].busy, 0);
}

/* The owner adds what a replica has gained: with floats that is not what the replica did one by
 * one. */
TEST(replica, equals_the_owner_after_quiesce_however_floats_round)
{
    static const float updates[3] = {16777216, -16777216, 0.25F};
    float row[3][LENGTH];
    locus_key key;
    CLOSED_BY(world_free) struct world *w = shared(&key);
    for (int u = 0; u < 3; u++)
        for (int i = 0; i < LENGTH; i++) row[u][i] = updates[u];
    shard_write(&w->node[1].shard, world_ref(w, 1, key), row[0], ROW_SET);
    world_pass(w, 8, 0);
    for (int u = 1; u < 3; u++) CHECK_EQ(row_add(world_ref(w, 0, key), row[u]), ROW_ON_REPLICA);
    world_pass(w, 4, 100 * WORLD_MS);
    quiesce(w, REQUEST_FLUSH_UPDATES);
    quiesce(w, REQUEST_FLUSH_REPLICAS);
    CHECK(world_is_replica(w, 0, key));
    CHECK(world_value(w, 1, key) == 0);
    CHECK(world_value(w, 0, key) == 0);
}

/* Another worker, in the middle of a turn. */
static locus_key pushed_meanwhile;
static uint64_t push_meanwhile(void *context)
{
    const struct world_node *n = context;
    CHECK_EQ(row_add(world_ref(n->world, n->rank, pushed_meanwhile), world_ones), ROW_ON_REPLICA);
    return n->world->now_ns;
}

TEST(replica, flush_of_what_came_earlier_does_not_wait_for_who_pushes_on)
{
    static struct request r;
    CLOSED_BY(world_free) struct world *w = shared(&pushed_meanwhile);
    CHECK_EQ(row_add(world_ref(w, 0, pushed_meanwhile), world_ones), ROW_ON_REPLICA);
    w->node[0].calls.cpu_ns = push_meanwhile;
    world_request(&r, 0, REQUEST_FLUSH_EARLIER, NULL, 0);
    CHECK(shard_serve(&w->node[0].shard, &r));
    for (int i = 0; i < 400 && r.busy; i++) world_pass(w, 1, WORLD_MS);
    CHECK_EQ(r.busy, 0);
    CHECK(!dirty_set_is_empty(w->node[0].shard.dirty));
    CHECK(world_value(w, 1, pushed_meanwhile) >= 1);
}

static void check_staleness(const struct shard *s, double seconds)
{
    double mean_s = 1e-6 * (double)s->counters.stale_us_squared * (1 << SHARD_STALE_SHIFT) /
                    (double)s->counters.stale_us;
    CHECK(mean_s > seconds * 0.99 && mean_s < seconds * 1.01);
}

/* Of many over a long time; and an owner that has nothing to say says so: what its replicas show is
 * as old as its last heartbeat. */
TEST(replica, staleness_is_counted_by_rounds_and_heartbeats)
{
    for (int beats = 0; beats < 2; beats++) {
        CLOSED_BY(world_free) struct world *w = world_new(LOCUS_ADAPTIVE, 2);
        struct shard *s = &w->node[0].shard;
        s->replicas->source[1].replicas = beats ? 10 : 100000;
        for (int second = 1; second <= 30; second++) {
            w->now_ns += 1000 * WORLD_MS;
            if (beats) shard_heartbeat(s, 1);
        }
        const struct wire_entry round = {.operation = WIRE_ROUND, .owner = 1, .origin = 1};
        CHECK(!world_receive(w, 0, 1, round));
        check_staleness(s, beats ? 0.5 : 15);
        s->replicas->source[1].replicas = 0;
    }
}

/* Rows that nobody has written, and that two nodes want: no memory, until somebody writes one; and
 * none of it stays. */
TEST(replica, of_what_was_never_written_takes_no_memory)
{
    locus_key key;
    CLOSED_BY(world_free) struct world *w = shared(&key);
    for (int n = 0; n < 2; n++) CHECK_EQ(store_held_rows(&w->node[n].store), 0);
    CHECK_EQ(row_add(world_ref(w, 0, key), world_ones), ROW_ON_REPLICA);
    CHECK_EQ(store_held_rows(&w->node[0].store), 1);
    world_pass(w, 4, 1000 * WORLD_MS);
    CHECK_EQ(store_held_rows(&w->node[1].store), 1);
    CHECK(world_value(w, 1, key) == 1);
    world_free(&w);
    w = shared(&key);
    w->node[0].clock[0] = w->node[1].clock[0] = 2000;
    world_pass(w, 4, 1000 * WORLD_MS);
    CHECK(!world_is_replica(w, 0, key));
    for (int n = 0; n < 2; n++) CHECK_EQ(store_held_rows(&w->node[n].store), 0);
}

/* An intent for now, and the access right behind it, before the shard has had a turn. */
TEST(replica, access_right_behind_its_intent_counts_it_as_late)
{
    static struct call c;
    CLOSED_BY(world_free) struct world *w = world_new(LOCUS_ADAPTIVE, 2);
    struct world_node *n = &w->node[0];
    locus_key key = world_key(w, 1);
    struct intent_stream *s = intents_open_stream(n->shard.intents, 0);
    stream_begin(s, 0, 5, 0, 0);
    CHECK_EQ(stream_add(s, world_ref(w, 0, key).index), 0);
    stream_publish(s);
    intents_published(n->shard.intents, 0, 0, 0);
    world_ask(w, &c, 0, 0, REQUEST_PULL, key, 0);
    CHECK_EQ(n->shard.counters.intents_late, 1);
    world_deliver_all(w);
    CHECK(!c.request.busy);
}

/* Every node has every row, and no node counts replicas of another. */
TEST(replica, full_replication_counts_no_sources)
{
    CLOSED_BY(world_free) struct world *w = world_new(LOCUS_FULL_REPLICATION, 3);
    locus_key key = world_key(w, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(row_add(world_ref(w, 2, key), world_ones), 0);
        world_pass(w, 10, 100 * WORLD_MS);
        CHECK_EQ(row_add(world_ref(w, 1, key), world_ones), ROW_ON_REPLICA);
        world_pass(w, 10, 100 * WORLD_MS);
    }
    for (unsigned n = 0; n < 3; n++) CHECK_EQ(w->node[1].shard.replicas->source[n].replicas, 0);
}
