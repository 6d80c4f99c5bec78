#include "node/waiting.h"

#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint64_t node_keys;

static struct waiting waiting_of_one(void)
{
    struct waiting w;
    node_keys = 0;
    waiting_init(&w, &node_keys);
    return w;
}

static int add(struct waiting *w, locus_clock now, locus_clock start, uint64_t keys)
{
    return waiting_add(w, &now, start, keys);
}

/* Keys that wait. What the node has granted for them is at least as much, and nothing when there
 * are none any more. */
static uint64_t keys_at(struct waiting *w, locus_clock now)
{
    waiting_give_up(w, &now, LOCUS_WAITING_KEYS_MAX);
    CHECK(node_keys >= w->keys);
    return w->keys;
}

static uint64_t throw_dice(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

TEST(waiting, keys_wait_until_their_start)
{
    struct waiting w = waiting_of_one();
    CHECK_EQ(add(&w, 0, 5, 10), 0);
    CHECK_EQ(add(&w, 0, 3, 7), 0);
    CHECK_EQ(keys_at(&w, 0), 17);
    CHECK_EQ(keys_at(&w, 2), 17);
    CHECK_EQ(keys_at(&w, 3), 10);
    CHECK_EQ(keys_at(&w, 4), 10);
    CHECK_EQ(keys_at(&w, 5), 0);
    waiting_fini(&w);
}

TEST(waiting, a_start_that_has_come_does_not_wait)
{
    struct waiting w = waiting_of_one();
    CHECK_EQ(add(&w, 8, 8, 10), 0);
    CHECK_EQ(add(&w, 8, -100, 10), 0);
    CHECK_EQ(add(&w, 8, INT64_MIN, 10), 0);
    CHECK_EQ(keys_at(&w, 8), 0);
    CHECK_EQ(waiting_signaled(&w), 30);
    waiting_fini(&w);
}

TEST(waiting, many_starts_pass_at_once)
{
    struct waiting w = waiting_of_one();
    for (locus_clock start = 1; start <= 1000; start++)
        CHECK_EQ(add(&w, 0, start * 7 % 1009, 1), 0);
    CHECK_EQ(keys_at(&w, 0), 1000);
    CHECK_EQ(keys_at(&w, 2000), 0);
    CHECK_EQ(keys_at(&w, 3000), 0);
    waiting_fini(&w);
}

TEST(waiting, the_last_clock_can_be_waited_for)
{
    struct waiting w = waiting_of_one();
    CHECK_EQ(add(&w, 0, INT64_MAX - 1, 4), 0);
    CHECK_EQ(add(&w, 0, INT64_MAX, 5), 0);
    CHECK_EQ(keys_at(&w, INT64_MAX - 2), 9);
    CHECK_EQ(keys_at(&w, INT64_MAX - 1), 5);
    CHECK_EQ(keys_at(&w, INT64_MAX), 0);
    waiting_fini(&w);
}

/* Against a plain table of how many keys start at each clock. */
TEST(waiting, it_agrees_with_a_plain_table)
{
    enum { CLOCKS = 3000, AHEAD = 200 };
    static uint64_t starts[CLOCKS + AHEAD];
    struct waiting w = waiting_of_one();
    uint64_t dice = 5, expected = 0, signaled = 0;
    for (locus_clock now = 0; now < CLOCKS; now++) {
        expected -= starts[now];
        if (now % 7 == 0) CHECK_EQ(keys_at(&w, now), expected);
        for (uint64_t calls = throw_dice(&dice) % 6; calls > 0; calls--) {
            locus_clock start = now - 5 + (locus_clock)(throw_dice(&dice) % AHEAD);
            uint64_t keys = 1 + throw_dice(&dice) % 100;
            CHECK_EQ(add(&w, now, start, keys), 0);
            signaled += keys;
            if (start <= now) continue;
            starts[start] += keys;
            expected += keys;
        }
        if (now % 3 == 0) CHECK_EQ(keys_at(&w, now), expected);
    }
    CHECK_EQ(waiting_signaled(&w), signaled);
    waiting_fini(&w);
    CHECK_EQ(node_keys, 0); /* its end gives up what still waits */
}

/* Who only adds needs no more memory, and no more of the node's bound, than waits at once,
 * about. */
TEST(waiting, what_has_started_makes_room_for_what_is_added)
{
    enum { AHEAD = 100, KEYS = 9 };
    struct waiting w = waiting_of_one();
    for (locus_clock now = 0; now < 100000; now++) CHECK_EQ(add(&w, now, now + AHEAD, KEYS), 0);
    CHECK(w.starts.capacity <= 4 * AHEAD);
    CHECK(node_keys <= 3 * 4000);
    CHECK_EQ(keys_at(&w, 100000), (AHEAD - 1) * KEYS);
    waiting_fini(&w);
}

/* An epoch that was signaled in advance, of which nothing was taken away since. */
TEST(waiting, a_call_takes_away_no_more_than_it_needs)
{
    enum { STARTS = 100000 };
    struct waiting w = waiting_of_one();
    uint64_t dice = 3;
    for (int i = 0; i < STARTS; i++)
        CHECK_EQ(add(&w, 0, 1 + (locus_clock)(throw_dice(&dice) % STARTS), 1), 0);
    size_t starts = w.starts.count;
    uint64_t keys = w.keys;
    for (int i = 0; i < 10; i++) {
        w.starts.capacity = w.starts.count; /* there is no room */
        CHECK_EQ(add(&w, STARTS, STARTS + 5 + i, 1000), 0);
        CHECK(starts - w.starts.count <= 1000 + 100);
        starts = w.starts.count;
    }
    CHECK(w.keys > keys / 2);
    CHECK_EQ(keys_at(&w, STARTS), 10000);
    waiting_fini(&w);
    CHECK_EQ(node_keys, 0);
}

TEST(waiting, one_batch_costs_one_entry)
{
    struct waiting w = waiting_of_one();
    for (locus_clock batch = 1; batch <= 10; batch++)
        for (int call = 0; call < 1000; call++) CHECK_EQ(add(&w, 0, batch, 1), 0);
    CHECK_EQ(keys_at(&w, 0), 10000);
    CHECK(w.starts.count <= 20);
    waiting_fini(&w);
}

TEST(waiting, the_bound_is_exact_and_a_refused_call_records_nothing)
{
    struct waiting w = waiting_of_one();
    CHECK_EQ(add(&w, 0, 5, LOCUS_WAITING_KEYS_MAX - 10), 0);
    CHECK_EQ(add(&w, 0, 5, 11), -ENOBUFS);
    CHECK_STR(locus_error(), "15999990 keys");
    CHECK_STR(locus_error(), "11 more");
    CHECK_STR(locus_error(), "16000000");
    CHECK_EQ(keys_at(&w, 0), LOCUS_WAITING_KEYS_MAX - 10);
    CHECK_EQ(waiting_signaled(&w), LOCUS_WAITING_KEYS_MAX - 10);
    CHECK_EQ(add(&w, 0, 6, 10), 0);
    CHECK_EQ(add(&w, 0, 6, 1), -ENOBUFS);
    CHECK_EQ(add(&w, 0, 6, UINT64_MAX), -ENOBUFS);
    CHECK_EQ(add(&w, 0, 0, 1000), 0); /* one that starts now does not wait */
    CHECK_EQ(keys_at(&w, 5), 10);
    CHECK_EQ(add(&w, 5, 7, LOCUS_WAITING_KEYS_MAX - 10), 0);
    CHECK_EQ(add(&w, 5, 7, 1), -ENOBUFS);
    waiting_fini(&w);
    CHECK_EQ(node_keys, 0);
}

/* Small calls of several workers: never more than the bound, and close to it before one is
 * refused. */
TEST(waiting, workers_share_one_bound)
{
    enum { WORKERS = 5, EACH = 8000 };
    struct waiting w[WORKERS];
    uint64_t sum = 0;
    int rc = 0;
    node_keys = 0;
    for (int i = 0; i < WORKERS; i++) waiting_init(&w[i], &node_keys);
    for (int i = 0; rc == 0; i++) {
        rc = add(&w[i % WORKERS], 0, 1 + i % 100, 777);
        if (rc == 0) sum += 777;
    }
    CHECK_EQ(rc, -ENOBUFS);
    CHECK(sum <= LOCUS_WAITING_KEYS_MAX);
    CHECK(sum >= LOCUS_WAITING_KEYS_MAX - 777 - WORKERS * EACH);
    waiting_fini(&w[0]); /* its share is free for the others */
    CHECK_EQ(add(&w[1], 0, 5, sum / WORKERS - EACH), 0);
    for (int i = 1; i < WORKERS; i++) waiting_fini(&w[i]);
    CHECK_EQ(node_keys, 0);
}

/* Loaders add while the worker advances its clock. */

enum { LOADERS = 3, CALLS = 20000 };

struct loading {
    struct waiting w;
    locus_clock clock;
    int running;
};

static void *load(void *argument)
{
    struct loading *l = argument;
    uint64_t dice = (uintptr_t)&dice;
    for (int i = 0; i < CALLS; i++) {
        locus_clock now = __atomic_load_n(&l->clock, __ATOMIC_RELAXED);
        CHECK_EQ(waiting_add(&l->w, &l->clock, now + (locus_clock)(throw_dice(&dice) % 10), 3), 0);
    }
    __atomic_fetch_sub(&l->running, 1, __ATOMIC_RELEASE);
    return NULL;
}

TEST(waiting, no_key_is_forgotten_or_counted_twice_when_loaders_race_with_the_clock)
{
    static struct loading l;
    pthread_t thread[LOADERS];
    node_keys = 0;
    l = (struct loading){.running = LOADERS};
    waiting_init(&l.w, &node_keys);
    for (int i = 0; i < LOADERS; i++) CHECK_EQ(pthread_create(&thread[i], NULL, load, &l), 0);
    while (__atomic_load_n(&l.running, __ATOMIC_ACQUIRE) > 0) {
        locus_clock now = l.clock + 1;
        __atomic_store_n(&l.clock, now, __ATOMIC_RELAXED);
        if (now % 100 == 0) waiting_give_up(&l.w, &l.clock, 1000);
    }
    for (int i = 0; i < LOADERS; i++) CHECK_EQ(pthread_join(thread[i], NULL), 0);
    CHECK_EQ(waiting_signaled(&l.w), LOADERS * CALLS * 3);
    CHECK_EQ(keys_at(&l.w, l.clock + 100), 0);
    waiting_fini(&l.w);
}

/* ---- who finds no room ---- */

static struct {
    uint64_t keys; /* of the node */
    int refused;   /* atomic */
} node;

static void *ask_for_all(void *unused)
{
    enum { TIMES = 500000 };
    const locus_clock now = 0;
    struct waiting w;
    waiting_init(&w, &node.keys);
    for (int i = 0; i < TIMES; i++) {
        CHECK_EQ(waiting_count(&node.keys, LOCUS_WAITING_KEYS_MAX), -ENOBUFS);
        CHECK_EQ(waiting_add(&w, &now, 1, LOCUS_WAITING_KEYS_MAX), -ENOBUFS);
    }
    waiting_fini(&w);
    __atomic_store_n(&node.refused, 1, __ATOMIC_RELEASE);
    return unused;
}

TEST(waiting, who_asks_for_more_than_there_is_takes_nothing_from_others)
{
    const locus_clock now = 0;
    pthread_t other;
    node.keys = 1;
    CHECK_EQ(pthread_create(&other, NULL, ask_for_all, NULL), 0);
    while (!__atomic_load_n(&node.refused, __ATOMIC_ACQUIRE)) {
        struct waiting w;
        CHECK_EQ(waiting_count(&node.keys, 1), 0);
        __atomic_fetch_sub(&node.keys, 1, __ATOMIC_RELAXED);
        waiting_init(&w, &node.keys);
        CHECK_EQ(waiting_add(&w, &now, 1, 1), 0);
        waiting_fini(&w);
    }
    CHECK_EQ(pthread_join(other, NULL), 0);
    CHECK_EQ(node.keys, 1);
}
