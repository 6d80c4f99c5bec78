/* What a worker has under way. The test is the shard: it takes requests before they are posted. */
#include "worker/operation.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

enum { KEYS = 50 };

static void open_operations(struct operations *o, bool moves)
{
    CHECK_EQ(operations_init(o, &(struct operations_config){.shards = 1, .moves = moves}), 0);
}

static struct request *begin(struct operations *o, struct operation **op, const locus_key *keys,
                             size_t n)
{
    *op = operation_begin(o);
    for (size_t i = 0; i < n; i++) operation_add(o, *op, REQUEST_PUSH, 0, keys[i], NULL);
    struct request *r = o->filling[0];
    o->filling[0] = NULL;
    return r;
}

TEST(operation, hold_counts_keys_until_their_request_is_done)
{
    CLOSED_BY(operations_fini) struct operations o;
    open_operations(&o, true);
    struct operation *op;
    locus_key keys[KEYS];
    for (locus_key i = 0; i < KEYS; i++) keys[i] = i * 1000;
    CHECK(!operations_hold(&o, keys, KEYS) && !operations_hold_key(&o, keys[0]));
    struct request *r = begin(&o, &op, keys, KEYS);
    locus_ticket t = operation_submit(&o, op);
    CHECK(t != 0);
    for (int i = 0; i < KEYS; i++)
        CHECK(operations_hold(&o, &keys[i], 1) && operations_hold_key(&o, keys[i]));
    CHECK(operations_hold(&o, keys, KEYS));
    unsigned others = 0;
    for (locus_key key = 1; key < 10000; key += 3) others += operations_hold_key(&o, key);
    CHECK(others < 10000 / 3 / 10); /* few share a place */
    operation_request_done(r, 0);
    for (int i = 0; i < KEYS; i++) CHECK(!operations_hold(&o, &keys[i], 1));
    CHECK_EQ(o.keys_under_way, 0);
    CHECK(!operations_hold_key(&o, keys[0]));
    CHECK_EQ(operations_wait(&o, t), 0);
    /* Where rows do not move one connection keeps the order: nothing is counted. */
    CLOSED_BY(operations_fini) struct operations still;
    open_operations(&still, false);
    r = begin(&still, &op, keys, 1);
    operation_submit(&still, op);
    CHECK(!operations_hold(&still, keys, 1));
    operation_request_done(r, 0);
    CHECK_EQ(operations_wait_all(&still), 0);
}

static void *complete_soon(void *request)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    operation_request_done(request, 0);
    return NULL;
}

TEST(operation, add_waits_for_a_request_where_all_are_under_way)
{
    CLOSED_BY(operations_fini) struct operations o;
    open_operations(&o, true);
    struct request *r[OPERATIONS_MAX];
    struct operation *op;
    pthread_t thread;
    locus_key key = 3;
    CHECK(o.requests < OPERATIONS_MAX);
    for (unsigned i = 0; i < o.requests; i++) {
        r[i] = begin(&o, &op, &key, 1);
        operation_submit(&o, op);
    }
    CHECK_EQ(pthread_create(&thread, NULL, complete_soon, r[7]), 0);
    CHECK(begin(&o, &op, &key, 1) == r[7]);
    operation_submit(&o, op);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    for (unsigned i = 0; i < o.requests; i++) operation_request_done(r[i], 0);
    CHECK_EQ(operations_wait_all(&o), 0);
}
