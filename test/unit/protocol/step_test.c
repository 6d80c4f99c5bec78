/* step: keys that were woken are looked at by the roles that were named, and what has nothing more
 * to remember is given back. */
#include "protocol/step.h"

#include "test.h"
#include "world.h"

enum { KEYS = 64, LENGTH = 3 };

static locus_key key_of(struct world *w, unsigned home, locus_key from)
{
    locus_key key = from;
    while (row_ref_home(store_row_ref(&w->node[0].store, key)) != home) key++;
    return key;
}

static struct record *record_of(struct world *w, locus_key key)
{
    struct shard *s = &w->node[0].shard;
    return record_get(&s->records, keyspace_index(&s->store->keyspace, key));
}

TEST(step, gives_back_what_remembers_nothing_and_keeps_the_rest)
{
    CLOSED_BY(world_free)
    struct world *w = world_new_managed(LOCUS_ADAPTIVE, 2, KEYS, LENGTH, 1, 1 << 20, 1);
    struct shard *s = &w->node[0].shard;
    locus_key first = key_of(w, 0, 0), second = key_of(w, 0, first + 1);
    struct record *empty = record_of(w, first), *held = record_of(w, second);
    struct row_ref ref = shard_row_ref(s, held->index);
    holders_add(held, ref, 1)->is_kept = true; /* stays here: nothing to do */
    shard_wake(s, empty, WOKEN_ORIGIN);
    shard_wake(s, held, WOKEN_ORIGIN | WOKEN_REPLICA | WOKEN_OWNER);
    step(s);
    CHECK_EQ(s->woken_first, 0);
    CHECK_EQ(held->woken, 0);
    CHECK_EQ(s->records.used - s->records.free_count, 1);
    CHECK(record_find(&s->records, held->index) == held);
    holders_remove(held, ref, 1);
    shard_wake(s, held, WOKEN_OWNER);
    step(s);
    CHECK_EQ(s->records.used - s->records.free_count, 0);
}

/* The row may leave: one other node wants it, and this one does not. Only the owner sees that. */
TEST(step, asks_the_roles_that_were_woken_and_no_other)
{
    CLOSED_BY(world_free)
    struct world *w = world_new_managed(LOCUS_ADAPTIVE, 2, KEYS, LENGTH, 1, 1 << 20, 1);
    struct shard *s = &w->node[0].shard;
    struct record *r = record_of(w, key_of(w, 0, 0));
    holders_add(r, shard_row_ref(s, r->index), 1);
    shard_wake(s, r, WOKEN_ORIGIN | WOKEN_REPLICA);
    step(s);
    CHECK_EQ(r->queued, 0);
    shard_wake(s, r, WOKEN_OWNER);
    step(s);
    CHECK_EQ(r->queued, BACKLOG_RECALL);
}

static void pull(struct world *w, struct request *r, struct request_item *item, unsigned number,
                 locus_key key, float *values)
{
    *item = (struct request_item){.key = key, .values = values};
    world_request(r, 0, number, REQUEST_PULL, item, 1);
    CHECK(shard_serve(&w->node[0].shard, r));
}

/* Behind an earlier request of the same worker. A wait has many ends, and each wakes another
 * role. */
TEST(step, lets_requests_go_on_whoever_was_woken)
{
    for (unsigned role = WOKEN_ORIGIN; role <= WOKEN_OWNER; role *= 2) {
        static struct request request[2];
        static struct request_item item[2];
        static float values[2][LENGTH];
        struct world *w = world_new_moving(2, KEYS, LENGTH, 1, 1 << 20, 1);
        struct shard *s = &w->node[0].shard;
        locus_key key = key_of(w, 1, 0);
        for (unsigned i = 0; i < 2; i++) pull(w, &request[i], &item[i], i, key, values[i]);
        struct record *r = record_of(w, key);
        CHECK(r->waiting_first != REQUEST_NOWHERE);
        shard_wake(s, r, role);
        step(s); /* the first one is not answered */
        CHECK(r->waiting_first != REQUEST_NOWHERE);
        r->asked = 0;
        step(s); /* nobody was woken */
        CHECK(r->waiting_first != REQUEST_NOWHERE);
        shard_wake(s, r, role);
        step(s);
        CHECK(r->waiting_first == REQUEST_NOWHERE);
        CHECK_EQ(r->asked, 1);
        world_free(&w);
    }
}

/* More than there are in a chunk of records, in one go. */
TEST(step, goes_on_until_nobody_is_woken)
{
    enum { MANY = 1000 };
    CLOSED_BY(world_free)
    struct world *w = world_new_managed(LOCUS_ADAPTIVE, 2, MANY, LENGTH, 1, 1 << 20, 1);
    struct shard *s = &w->node[0].shard;
    for (locus_key key = 0; key < MANY; key++) shard_wake(s, record_of(w, key), WOKEN_REPLICA);
    CHECK_EQ(s->records.used - s->records.free_count, MANY);
    step(s);
    CHECK_EQ(s->woken_first, 0);
    CHECK_EQ(s->records.used - s->records.free_count, 0);
}
