/* signaling: intents reach the shard of their key, on the node where they are signaled; and nothing
 * is recorded of what is refused. */
#include "worker/node.h"

#include "intents/intents.h"
#include "pair.h"

enum { ROWS = 60, SHARDS = 3 };
static const struct locus_table table = {.rows = ROWS, .length = 1};

/* Its shards keep what happens to keys. */
static void pair_begin(struct pair *p)
{
    CHECK_EQ(setenv("LOCUS_METRICS", "127.0.0.1:0", 1), 0);
    pair_init(p, &table, 1);
    p->config.shards = SHARDS;
    pair_open(p);
}

static int intend(struct pair *p, locus_key key, locus_clock start, locus_clock end)
{
    return locus_intent(p->worker[0], &key, 1, start, end);
}

/* What the shard of the key knows. */
static struct key_snapshot snapshot_of(const struct pair *p, int rank, locus_key key)
{
    struct key_snapshot l;
    const struct keyspace *k = &p->node[rank]->store.keyspace;
    CHECK_EQ(reactor_snapshot(cluster_reactors(p->node[rank]->cluster)[keyspace_shard(k, key)],
                              keyspace_index(k, key), &l),
             0);
    return l;
}

/* Of the last intent for the key that has begun. */
static locus_clock start_of(const struct pair *p, int rank, locus_key key)
{
    const struct keyspace *k = &p->node[rank]->store.keyspace;
    struct events_reader r = {.of = node_shard(p->node[rank], keyspace_shard(k, key))->events};
    locus_clock start = -1;
    for (struct key_event e; events_read(&r, &e, 1) == 1;)
        if (e.kind == EVENT_INTENDED && e.index == keyspace_index(k, key)) start = e.start;
    return start;
}

static uint64_t wants_taken(const struct pair *p, int rank)
{
    uint64_t taken = 0;
    for (unsigned s = 0; s < SHARDS; s++) taken += node_shard(p->node[rank], s)->intents->taken;
    return taken;
}

TEST_ON_NODE(signaling, does_nothing_on_one_node, ROWS, 1)
{
    struct intent_stream **streams = (void *)&streams;
    const locus_key key = 3;
    CHECK_EQ(signaling_open(w, &streams), 0);
    CHECK(streams == NULL);
    signaling_close(w, &streams, false);
    signaling_advance(w, 1);
    CHECK_EQ(signaling_unintend(w, &key, 1), 0);
}

/* What begins in the past has begun; what has ended is counted and not recorded. */
TEST_WITH(signaling, intent_of_the_past_begins_now_or_not_at_all, pair, p)
{
    locus_key key = pair_key_of(p, 0, 0);
    for (int i = 0; i < 10; i++) locus_advance_clock(p->worker[0]);
    CHECK_EQ(intend(p, key, 2, 5), 0);
    CHECK_EQ(p->node[0]->waiting_keys, 0);
    CHECK_EQ(intend(p, key + 1, 2, 50), 0);
    while (snapshot_of(p, 0, key + 1).wanted == 0) continue;
    CHECK_EQ(start_of(p, 0, key + 1), 10);
    CHECK_EQ(snapshot_of(p, 0, key).wanted, 0);
    CHECK_EQ(stats_of(p->node[0]).intents_signaled, 2);
}

TEST_WITH(signaling, intent_beyond_the_bound_is_not_recorded, pair, p)
{
    enum { KEYS = 4, REST = 3 };
    locus_key keys[KEYS], next = 0;
    for (int i = 0; i < KEYS; i++, next++) keys[i] = next = pair_key_of(p, 0, next);
    __atomic_fetch_add(&p->node[0]->waiting_keys, LOCUS_WAITING_KEYS_MAX - REST, __ATOMIC_RELAXED);
    CHECK_EQ(locus_intent(p->worker[0], keys, KEYS, 5000, 5001), -ENOBUFS);
    CHECK_EQ(locus_intent(p->worker[0], keys, REST, 5000, 5001), 0);
    CHECK_EQ(locus_intent(p->worker[0], keys, KEYS, 0, 5001), 0); /* do not wait */
    for (int i = 0; i < KEYS; i++)
        while (snapshot_of(p, 0, keys[i]).wanted == 0) continue;
    CHECK_EQ(p->node[0]->waiting_keys, LOCUS_WAITING_KEYS_MAX);
    CHECK_EQ(wants_taken(p, 0), REST + KEYS);
    CHECK_EQ(stats_of(p->node[0]).intents_signaled, REST + KEYS);
    __atomic_fetch_sub(&p->node[0]->waiting_keys, LOCUS_WAITING_KEYS_MAX - REST, __ATOMIC_RELAXED);
}

/* A loader has streams of its own; what it signaled outlives it, and ends with the worker. */
TEST_WITH(signaling, loader_intents_end_with_the_worker, pair, p)
{
    locus_loader *l;
    locus_key key = pair_key_of(p, 0, 0);
    CHECK_EQ(locus_loader_open(p->worker[0], &l), 0);
    CHECK_EQ(locus_loader_intent(l, &key, 1, 0, 100), 0);
    CHECK_EQ(locus_loader_close(l), 0);
    while (snapshot_of(p, 0, key).wanted == 0) continue;
    CHECK_EQ(locus_worker_close(p->worker[0]), 0);
    p->worker[0] = NULL;
    while (snapshot_of(p, 0, key).wanted > 0) continue;
}
