#include "kge/feed.h"
#include "test.h"
#include "tiny.h"

#include <string.h>

/* One baseline worker of some; all of its epochs. */
struct pass {
    struct task task;
    unsigned place, total;
    int seen[TINY_TRAIN];
    uint64_t batches;
    size_t facts;
    uint64_t digest;
};

static void check_places(const struct pass *p, const struct batch *b)
{
    float uses[256] = {0};
    for (uint32_t i = 0; i < b->entities + b->relations; i++) {
        CHECK((b->keys[i] < TINY_ENTITIES) == (i < b->entities));
        CHECK(!task_takes_all(&p->task) || i >= TINY_ENTITIES || b->keys[i] == i);
        for (uint32_t j = 0; j < i; j++) CHECK(b->keys[i] != b->keys[j]);
    }
    for (uint32_t i = 0; i < b->facts; i++) {
        CHECK(b->subject[i] < b->entities && b->object[i] < b->entities);
        uses[b->subject[i]] += 2;
        uses[b->object[i]] += 2;
        for (int side = 0; side < MODEL_SIDES; side++) {
            CHECK(b->relation[side][i] >= b->entities &&
                  b->relation[side][i] < b->entities + b->relations);
            uses[b->relation[side][i]]++;
        }
        CHECK_EQ(b->keys[b->relation[1][i]],
                 b->keys[b->relation[0][i]] + (p->task.model.is_reciprocal ? TINY_RELATIONS : 0));
    }
    for (uint32_t i = 0; i < b->entities + b->relations; i++) CHECK(uses[i] == b->uses[i]);
    for (uint32_t i = 0; i < b->negatives; i++) CHECK(b->negative_keys[i] < TINY_ENTITIES);
}

/* Counts the training facts that a batch has; equal ones are counted one after the other. */
static void count_facts(struct pass *p, const struct batch *b)
{
    for (uint32_t i = 0; i < b->facts; i++) {
        int best = -1;
        for (int j = 0; j < TINY_TRAIN; j++) {
            struct fact f = p->task.graph.splits[GRAPH_TRAIN].list[j];
            if (task_entity_key(f.subject) != b->keys[b->subject[i]]) continue;
            if (task_entity_key(f.object) != b->keys[b->object[i]]) continue;
            if (task_relation_key(&p->task, f.relation) != b->keys[b->relation[0][i]]) continue;
            if (best < 0 || p->seen[j] < p->seen[best]) best = j;
        }
        CHECK(best >= 0);
        p->seen[best]++;
        p->digest = p->digest * 31 + (uint64_t)best;
    }
}

static void run(struct pass *p)
{
    CLOSED_BY(pool_close) struct pool pool;
    CLOSED_BY(feed_close) struct feed feed;
    tiny_pool(&pool, &p->task, true, 1);
    struct pool_member m = {.pool = &pool, .place = p->place, .total = p->total};
    feed_open(&feed, &p->task, &m, &(struct progress){.part = 0}, 1);
    const struct batch *b;
    size_t in_epoch = 0;
    while ((b = feed_next(&feed)) != NULL) {
        check_places(p, b);
        count_facts(p, b);
        p->batches++;
        p->facts += b->facts;
        in_epoch += b->facts;
        CHECK_EQ(b->negatives, feed_negatives(&p->task));
        CHECK_EQ(b->is_last, in_epoch == feed.count);
        if (b->is_last) in_epoch = 0;
    }
}

static void pass(struct pass *p, struct options o, unsigned place, unsigned total)
{
    memset(p, 0, sizeof *p);
    p->place = place;
    p->total = total;
    tiny_init(&p->task);
    p->task.options.batch = o.batch;
    p->task.options.negatives = o.negatives;
    p->task.options.is_reciprocal = o.is_reciprocal;
    p->task.options.common.seed = o.common.seed;
    tiny_finish(&p->task);
    run(p);
    tiny_fini(&p->task);
}

/* Where all entities are negatives (0), batches have all of them: in order, before the relations. */
TEST(feed, every_fact_comes_once_an_epoch)
{
    static const uint64_t sizes[] = {1, 7, 40, 64, 200};
    for (unsigned i = 0; i < 20; i++) {
        static struct pass p;
        uint64_t batch = sizes[i % 5];
        pass(&p,
             (struct options){
                 .batch = batch, .negatives = i < 10 ? 4 : 0, .is_reciprocal = i / 5 % 2},
             0, 1);
        for (int j = 0; j < TINY_TRAIN; j++) CHECK_EQ(p.seen[j], 2);
        CHECK_EQ(p.batches, 2 * ((TINY_TRAIN + batch - 1) / batch));
    }
}

TEST(feed, workers_divide_the_facts)
{
    int seen[TINY_TRAIN] = {0};
    static struct pass p;
    for (unsigned place = 0; place < 7; place++) {
        pass(&p, (struct options){.batch = 4, .negatives = 4}, place, 7);
        for (int j = 0; j < TINY_TRAIN; j++) seen[j] += p.seen[j];
    }
    for (int j = 0; j < TINY_TRAIN; j++) CHECK_EQ(seen[j], 2);
}

TEST(feed, the_seed_decides_the_order)
{
    uint64_t digests[3];
    static struct pass p;
    for (unsigned i = 0; i < 3; i++) {
        pass(&p, (struct options){.batch = 3, .negatives = 4, .common.seed = 8 + i / 2}, 0, 1);
        digests[i] = p.digest;
    }
    CHECK(digests[0] == digests[1] && digests[0] != digests[2]);
}

/* Other workers signal far ahead, or the node's shards are behind. */
TEST(feed, closes_in_the_middle)
{
    CLOSED_BY(tiny_fini) struct task t;
    CLOSED_BY(pool_close) struct pool pool;
    tiny_init(&t);
    t.options.common.epochs = 1000;
    tiny_finish(&t);
    tiny_pool(&pool, &t, true, 1);
    struct pool_member m = {.pool = &pool, .total = 1};
    for (int batches = 0; batches < 2; batches++) {
        CLOSED_BY(feed_close) struct feed feed;
        feed_open(&feed, &t, &m, &(struct progress){.part = 0}, 1);
        if (batches > 0) CHECK(feed_next(&feed) != NULL);
    }
}
