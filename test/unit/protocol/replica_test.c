/* Replicas, where nodes are slow, peers send what honest ones would not, and little happens for a
 * long time. */
#include "protocol/location.h"
#include "common/stores.h"
#include "protocol/sources.h"
#include "test.h"
#include "world.h"

enum { LENGTH = 4, KEYS = 64 };
#define MS UINT64_C(1000000)

static const float ones[LENGTH] = {1, 1, 1, 1};

static locus_key key_of(struct world *w, unsigned home)
{
    locus_key key = 0;
    while (row_ref_home(store_row_ref(&w->node[0].store, key)) != home) key++;
    return key;
}

static struct row_ref row_ref_at(struct world *w, unsigned node, locus_key key)
{
    return store_row_ref(&w->node[node].store, key);
}

static bool is_replica_at(struct world *w, unsigned node, locus_key key)
{
    return directory_state(*row_ref_word(row_ref_at(w, node, key))) == DIRECTORY_REPLICA;
}

static void intend(struct world *w, unsigned node, locus_key key, locus_clock end)
{
    struct intent_stream *s = intents_open_stream(w->node[node].shard.intents, 0);
    CHECK_EQ(stream_add(s, 0, end, false, keyspace_index(&w->node[node].store.keyspace, key)), 0);
    stream_publish(s);
    shard_turn(&w->node[node].shard, w->now_ns);
}

static struct world *nodes_of(enum locus_technique technique, unsigned nodes)
{
    return world_new_managed(technique, nodes, KEYS, LENGTH, 1, 1 << 20, 1);
}

static struct world *two_that_share(enum locus_technique technique, unsigned nodes, locus_key *key)
{
    struct world *w = nodes_of(technique, nodes);
    *key = key_of(w, 1);
    intend(w, 1, *key, 1000);
    intend(w, 0, *key, 100);
    world_deliver_all(w);
    CHECK(is_replica_at(w, 0, *key));
    return w;
}

static void deliver(struct world *w, unsigned from, unsigned to)
{
    const char *why = NULL;
    while (world_deliver(w, from, to, &why)) CHECK(!why);
}

/* The owner answers the intent before the push: the replica comes without it, and its refresh may
 * wait for long. */
TEST(adversity, a_push_that_its_replica_lacks_does_not_wait_for_the_pacer)
{
    static struct request r;
    static float update[LENGTH] = {1, 1, 1, 1};
    static struct request_item item = {.values = update};
    CLOSED_BY(world_free) struct world *w = nodes_of(LOCUS_ADAPTIVE, 2);
    locus_key key = item.key = key_of(w, 1);
    intend(w, 1, key, 1000);
    intend(w, 0, key, 100);
    world_request(&r, 0, 0, REQUEST_PUSH, &item, 1);
    CHECK(shard_serve(&w->node[0].shard, &r));
    for (unsigned n = 0; n < 2; n++) w->node[n].shard.pacer->due_ns = w->now_ns + 50 * MS;
    deliver(w, 0, 1);
    deliver(w, 1, 0);
    CHECK(is_replica_at(w, 0, key));
    CHECK(r.busy != 0);
    shard_turn(&w->node[0].shard, w->now_ns);
    deliver(w, 0, 1);
    deliver(w, 1, 0);
    CHECK_EQ(r.busy, 0);
    struct row_ref replica = row_ref_at(w, 0, key);
    CHECK(*partition_row(replica.partition, directory_slot(*row_ref_word(replica))) == 1);
    world_deliver_all(w);
}

TEST(adversity, a_replica_of_no_version_is_refused)
{
    CLOSED_BY(world_free) struct world *w = nodes_of(LOCUS_ADAPTIVE, 2);
    locus_key key = key_of(w, 1);
    intend(w, 0, key, 100);
    struct wire_entry answer = {
        .operation = WIRE_ANSWER, .owner = 1, .flags = WIRE_HOLDER, .length = LENGTH, .key = key};
    CHECK_STR(world_receive(w, 0, 1, answer), "a replica of no version");
}

/* A holder says which version it has; what the only one has need not travel when the row goes
 * there. Returns the row's length on the wire. */
static uint32_t length_of_the_row_to_its_holder(bool stale)
{
    locus_key key;
    float row[LENGTH];
    struct world *w = two_that_share(LOCUS_ADAPTIVE, 2, &key);
    const struct world_link *l = &w->link[1][0];
    CHECK_EQ(row_add(row_ref_at(w, 0, key), ones), 1);
    w->node[1].clock[0] = 1000;
    shard_turn(&w->node[1].shard, w->now_ns); /* its intent has expired: a recall */
    deliver(w, 1, 0);
    CHECK_EQ(row_add(row_ref_at(w, 0, key), ones), 1);
    shard_turn(&w->node[0].shard, w->now_ns);
    CHECK_EQ(row_add(row_ref_at(w, 0, key), ones), 1);
    if (stale) CHECK_EQ(row_add(row_ref_at(w, 1, key), ones), 0);
    deliver(w, 0, 1);
    const struct wire_entry *e = (const void *)l->frame[l->first].body;
    while (e->operation != WIRE_ROW)
        e = (const void *)((const char *)e + wire_entry_bytes(e->length));
    uint32_t length = e->length;
    world_deliver_all(w);
    CHECK(location_of(&w->node[0].shard, row_ref_at(w, 0, key)).is_here);
    shard_read(row_ref_at(w, 0, key), row, 0);
    CHECK(row[0] == 3.0F + (float)stale && row[LENGTH - 1] == row[0]);
    world_free(&w);
    return length;
}

TEST(adversity, a_row_goes_to_a_replica_as_good_without_its_values)
{
    CHECK_EQ(length_of_the_row_to_its_holder(false), 0);
    CHECK_EQ(length_of_the_row_to_its_holder(true), LENGTH);
}

/* Our own sync comes to us while the row does, and twice is once too often: the row answers it,
 * too. Who sent it is refused, and who sent the row is not. */
TEST(adversity, what_is_wrong_with_a_parked_entry_fails_the_link_that_it_came_by)
{
    static const char no[] = "an entry in our own name";
    for (unsigned from = 1; from < 3; from++) {
        struct world *w = nodes_of(LOCUS_ADAPTIVE, 3);
        locus_key key = key_of(w, 1);
        intend(w, 0, key, 100);
        const struct wire_entry ours = {.operation = WIRE_SYNC,
                                        .flags = WIRE_BEGIN,
                                        .key = key,
                                        .term = 1},
                                row = {.operation = WIRE_ROW,
                                       .flags = WIRE_ANSWERS,
                                       .origin = 1,
                                       .key = key,
                                       .term = 1},
                                news = {.operation = WIRE_ROUND_DONE,
                                        .owner = (uint16_t)from,
                                        .origin = (uint16_t)from};
        CHECK(!world_receive(w, 0, from, ours)); /* it waits for the row */
        const char *why = world_receive(w, 0, 1, row);
        CHECK(location_of(&w->node[0].shard, row_ref_at(w, 0, key)).is_here);
        if (from == 1) CHECK_STR(why, no);
        if (from == 2) CHECK(!why);
        CHECK_STR(world_receive(w, 0, from, news), no);
        world_free(&w);
    }
}

/* With its sync under way, as after a recall. */
static const char *row_instead_of_an_answer(uint64_t version)
{
    locus_key key;
    struct world *w = two_that_share(LOCUS_ADAPTIVE, 2, &key);
    CHECK(!world_receive(w, 0, 1,
                         (struct wire_entry){.operation = WIRE_RECALL, .owner = 1, .key = key}));
    shard_turn(&w->node[0].shard, w->now_ns);
    CHECK(w->link[0][1].count > 0);
    struct wire_entry row = {.operation = WIRE_ROW,
                             .flags = WIRE_ANSWERS,
                             .encoding = WIRE_AS_REPLICA,
                             .origin = 1,
                             .key = key,
                             .term = 1,
                             .version = version};
    const char *why = world_receive(w, 0, 1, row);
    world_free(&w);
    return why;
}

TEST(adversity, a_row_without_values_is_for_the_replica_of_that_version)
{
    static const char no[] = "a row that is not our replica";
    CHECK(!row_instead_of_an_answer(1));
    CHECK_STR(row_instead_of_an_answer(2), no);
    CHECK_STR(row_instead_of_an_answer(0), no);
}

/* Else the holder of a replica could be made to take itself for the one to send its updates to. */
TEST(adversity, nobody_else_tells_us_that_a_row_is_ours)
{
    locus_key key;
    CLOSED_BY(world_free) struct world *w = two_that_share(LOCUS_ADAPTIVE, 3, &key);
    struct wire_entry news = {.operation = WIRE_LOCATION, .origin = 2, .key = key, .term = 7};
    CHECK_STR(world_receive(w, 0, 2, news), "news of a row that is ours");
    /* Routed by what its sender believes: that is believed. */
    struct wire_entry pull = {.operation = WIRE_PULL, .origin = 2, .key = key, .term = 7};
    CHECK(!world_receive(w, 0, 2, pull));
    CHECK(!world_receive(w, 0, 2,
                         (struct wire_entry){.operation = WIRE_RECALL, .owner = 2, .key = key}));
    CHECK_EQ(row_add(row_ref_at(w, 0, key), ones), 1);
    w->now_ns += 100 * MS;
    shard_turn(&w->node[0].shard, w->now_ns);
    CHECK_EQ(w->link[0][0].count, 0);
}

/* One that only serves the rounds of others owes nothing for it after a while. */
TEST(adversity, serving_for_long_does_not_hold_up_our_own_rounds)
{
    CLOSED_BY(world_free) struct world *w = nodes_of(LOCUS_FULL_REPLICATION, 2);
    for (unsigned n = 0; n < 2; n++) w->node[n].shard.pacer->round_ns = 4200;
    struct shard *s = &w->node[0].shard;
    locus_key theirs = key_of(w, 1), ours = key_of(w, 0);
    for (int i = 0; i < 100000; i++) {
        const char *why;
        w->now_ns += MS / 10;
        shard_write(&w->node[1].shard, row_ref_at(w, 1, theirs), ones, ROW_ADD);
        shard_turn(&w->node[1].shard, w->now_ns);
        while (world_step(w, &why)) CHECK(!why);
        shard_turn(s, w->now_ns);
    }
    shard_write(s, row_ref_at(w, 0, ours), ones, ROW_ADD);
    shard_turn(s, w->now_ns);
    world_deliver_all(w);
    CHECK_EQ(s->counters.rounds, 1);
    CHECK(s->pacer->due_ns <= w->now_ns + PACER_FACTOR * (UINT64_C(1) * PACER_SERVED_NS_MAX + MS));
}

TEST(adversity, lists_that_are_never_empty_stay_as_long_as_what_waits)
{
    enum { LONG = 64, ROWS = 2000 };
    static const float many[LONG] = {1};
    CLOSED_BY(world_free)
    struct world *w = world_new_managed(LOCUS_FULL_REPLICATION, 4, ROWS, LONG, 1, 1 << 20, 1);
    struct shard *s = &w->node[0].shard;
    s->pacer->round_ns = 4200, s->pacer->kib_ns = 2300;
    for (int turn = 0; turn < 2000; turn++) {
        const char *why;
        for (locus_key key = 0; key < ROWS; key += 1 + (locus_key)turn % 3)
            if (row_ref_home(row_ref_at(w, 0, key)) == 0)
                shard_write(s, row_ref_at(w, 0, key), many, ROW_ADD);
        w->now_ns += MS;
        shard_turn(s, w->now_ns);
        while (world_step(w, &why)) CHECK(!why);
    }
    CHECK(s->backlog->peer[1].refresh.capacity <= 4 * ROWS);
}

static void turns(struct world *w)
{
    for (int i = 0; i < 4; i++)
        for (unsigned n = 0; n < 2; n++) {
            shard_turn(&w->node[n].shard, w->now_ns);
            world_deliver_all(w);
        }
}

static void quiesce(struct world *w, struct request *r, enum request_kind kind)
{
    for (unsigned n = 0; n < 2; n++) {
        world_request(&r[n], 0, 0, kind, NULL, 0);
        CHECK(shard_serve(&w->node[n].shard, &r[n]));
    }
    turns(w);
    for (unsigned n = 0; n < 2; n++) CHECK_EQ(r[n].busy, 0);
}

/* The owner adds what a replica has gained: with floats that is not what the replica did one by
 * one. */
TEST(adversity, copies_are_equal_after_quiesce_however_floats_round)
{
    static const float large[LENGTH] = {16777216, 16777216, 16777216, 16777216},
                       less[LENGTH] = {-16777216, -16777216, -16777216, -16777216},
                       little[LENGTH] = {0.25F, 0.25F, 0.25F, 0.25F};
    static struct request r[2];
    float at_replica[LENGTH], at_owner[LENGTH];
    locus_key key;
    CLOSED_BY(world_free) struct world *w = two_that_share(LOCUS_ADAPTIVE, 2, &key);
    shard_write(&w->node[1].shard, row_ref_at(w, 1, key), large, ROW_SET);
    turns(w);
    CHECK_EQ(row_add(row_ref_at(w, 0, key), less), 1);
    CHECK_EQ(row_add(row_ref_at(w, 0, key), little), 1);
    w->now_ns += 100 * MS;
    turns(w);
    quiesce(w, r, REQUEST_FLUSH_UPDATES);
    quiesce(w, r, REQUEST_FLUSH_REPLICAS);
    CHECK(is_replica_at(w, 0, key));
    shard_read(row_ref_at(w, 0, key), at_replica, 0);
    shard_read(row_ref_at(w, 1, key), at_owner, 0);
    CHECK(at_owner[0] == 0);
    CHECK(at_replica[0] == at_owner[0]);
}

/* Another worker, in the middle of a turn. */
static locus_key pushed_meanwhile;
static uint64_t push_meanwhile(void *context)
{
    const struct world_node *n = context;
    CHECK_EQ(row_add(row_ref_at(n->world, n->rank, pushed_meanwhile), ones), 1);
    return n->world->now_ns;
}

TEST(adversity, who_flushes_what_came_earlier_does_not_wait_for_who_pushes_on)
{
    static struct request r;
    float at_owner[LENGTH];
    CLOSED_BY(world_free) struct world *w = two_that_share(LOCUS_ADAPTIVE, 2, &pushed_meanwhile);
    turns(w);
    CHECK(is_replica_at(w, 0, pushed_meanwhile));
    CHECK_EQ(row_add(row_ref_at(w, 0, pushed_meanwhile), ones), 1);
    w->node[0].calls.cpu_ns = push_meanwhile;
    world_request(&r, 0, 0, REQUEST_FLUSH_EARLIER, NULL, 0);
    CHECK(shard_serve(&w->node[0].shard, &r));
    for (int i = 0; i < 100 && r.busy; i++) {
        w->now_ns += MS;
        turns(w);
    }
    CHECK_EQ(r.busy, 0);
    CHECK(dirty_set_is_empty(w->node[0].shard.dirty) == false);
    shard_read(row_ref_at(w, 1, pushed_meanwhile), at_owner, 0);
    CHECK(at_owner[0] >= 1);
}

TEST(adversity, staleness_of_many_replicas_over_a_long_time)
{
    CLOSED_BY(world_free) struct world *w = nodes_of(LOCUS_ADAPTIVE, 2);
    struct shard *s = &w->node[0].shard;
    s->sources->source[1].replicas = 100000;
    w->now_ns = UINT64_C(30000) * MS;
    CHECK(!world_receive(w, 0, 1,
                         (struct wire_entry){.operation = WIRE_ROUND, .owner = 1, .origin = 1}));
    double mean_s = 1e-6 * (double)s->counters.stale_us_squared * (1 << SHARD_STALE_SHIFT) /
                    (double)s->counters.stale_us;
    CHECK(mean_s > 14.9 && mean_s < 15.1);
    s->sources->source[1].replicas = 0;
}

/* Rows that nobody has written, and that two nodes want: no memory, until somebody writes one, and
 * none of it stays. */
TEST(adversity, replicas_of_what_was_never_written_cost_no_memory)
{
    locus_key key;
    CLOSED_BY(world_free) struct world *w = two_that_share(LOCUS_ADAPTIVE, 2, &key);
    float row[LENGTH];
    for (int n = 0; n < 2; n++) CHECK_EQ(store_held_rows(&w->node[n].store), 0);
    CHECK_EQ(row_add(row_ref_at(w, 0, key), ones), ROW_ON_REPLICA);
    CHECK_EQ(store_held_rows(&w->node[0].store), 1);
    for (int i = 0; i < 4; i++) {
        w->now_ns += 1000 * MS;
        for (int n = 0; n < 2; n++) shard_turn(&w->node[n].shard, w->now_ns);
        world_deliver_all(w);
    }
    CHECK_EQ(store_held_rows(&w->node[1].store), 1);
    shard_read(row_ref_at(w, 1, key), row, 0);
    CHECK(row[0] == 1);
    world_free(&w);
    w = two_that_share(LOCUS_ADAPTIVE, 2, &key);
    w->node[0].clock[0] = w->node[1].clock[0] = 2000;
    for (int i = 0; i < 4; i++) {
        w->now_ns += 1000 * MS;
        for (int n = 0; n < 2; n++) shard_turn(&w->node[n].shard, w->now_ns);
        world_deliver_all(w);
    }
    CHECK(!is_replica_at(w, 0, key));
    for (int n = 0; n < 2; n++) CHECK_EQ(store_held_rows(&w->node[n].store), 0);
}

/* An owner that has nothing to say says so: what its replicas show is as old as its last
 * heartbeat. */
TEST(adversity, heartbeats_say_that_replicas_are_as_they_were)
{
    CLOSED_BY(world_free) struct world *w = nodes_of(LOCUS_ADAPTIVE, 2);
    struct shard *s = &w->node[0].shard;
    s->sources->source[1].replicas = 10;
    for (int second = 1; second <= 30; second++) {
        w->now_ns += UINT64_C(1000) * MS;
        shard_heartbeat(s, 1);
    }
    double mean_s = 1e-6 * (double)s->counters.stale_us_squared * (1 << SHARD_STALE_SHIFT) /
                    (double)s->counters.stale_us;
    CHECK(mean_s > 0.49 && mean_s < 0.51);
    s->sources->source[1].replicas = 0;
}

/* An intent for now, and the access right behind it, before the shard has had a turn: it is
 * late. */
TEST(adversity, an_access_right_behind_its_intent_counts_it_as_late)
{
    CLOSED_BY(world_free) struct world *w = nodes_of(LOCUS_ADAPTIVE, 2);
    struct world_node *n = &w->node[0];
    static struct request r;
    static struct request_item item;
    float row[LENGTH];
    locus_key key = key_of(w, 1);
    struct intent_stream *s = intents_open_stream(n->shard.intents, 0);
    CHECK_EQ(stream_add(s, 0, 5, false, keyspace_index(&n->store.keyspace, key)), 0);
    stream_publish(s);
    intents_published(n->shard.intents, 0, 0, 0);
    item = (struct request_item){.key = key, .values = row};
    world_request(&r, 0, 0, REQUEST_PULL, &item, 1);
    CHECK(shard_serve(&n->shard, &r));
    CHECK_EQ(n->shard.counters.intents_late, 1);
    world_deliver_all(w);
    CHECK_EQ(n->completed, 1);
}

/* The worker passes the clock at which the shard must look while a loader is about to publish. */
TEST(adversity, a_loader_names_a_clock_that_has_passed_meanwhile)
{
    locus_key key;
    CLOSED_BY(world_free) struct world *w = two_that_share(LOCUS_ADAPTIVE, 2, &key);
    struct world_node *n = &w->node[0];
    struct intent_stream *s = intents_open_stream(n->shard.intents, 0);
    locus_clock seen = n->clock[0];
    CHECK_EQ(stream_add(s, 60, 1000, false, keyspace_index(&n->store.keyspace, key)), 0);
    __atomic_store_n(&n->clock[0], 60, __ATOMIC_SEQ_CST);
    stream_publish(s);
    CHECK(intents_published(n->shard.intents, 0, 60, seen));
}

/* The same of a replica whose intent expires before the recall comes. */
TEST(adversity, nobody_makes_us_tell_ourselves_of_an_expired_intent)
{
    locus_key key;
    CLOSED_BY(world_free) struct world *w = two_that_share(LOCUS_ADAPTIVE, 3, &key);
    struct wire_entry pull = {.operation = WIRE_PULL, .origin = 2, .key = key, .term = 7};
    CHECK(!world_receive(w, 0, 2, pull));
    w->now_ns += 100 * MS;
    shard_turn(&w->node[0].shard, w->now_ns);
    w->node[0].shard.pacer->due_ns = w->now_ns + 50 * MS; /* as after a round to some other node */
    w->node[0].clock[0] = 100;
    shard_turn(&w->node[0].shard, w->now_ns); /* the intent has expired */
    CHECK(!world_receive(w, 0, 2,
                         (struct wire_entry){.operation = WIRE_RECALL, .owner = 2, .key = key}));
    for (int i = 0; i < 5; i++) {
        w->now_ns += 100 * MS;
        shard_turn(&w->node[0].shard, w->now_ns);
    }
    CHECK_EQ(w->link[0][0].count, 0);
}
