/* Clocks and intents, on a cluster of one: what is refused, and the bound on keys that wait. */
#include "one_node.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* ---- intent and clocks ---- */

TEST(intent, clocks_start_at_zero_and_advance_by_one)
{
    locus *n = one_node(10, 1, 2);
    locus_worker *a = worker_of(n), *b = worker_of(n);
    CHECK_EQ(locus_current_clock(a), 0);
    CHECK_EQ(locus_advance_clock(a), 1);
    CHECK_EQ(locus_advance_clock(a), 2);
    CHECK_EQ(locus_current_clock(a), 2);
    CHECK_EQ(locus_current_clock(b), 0);
    CHECK_EQ(locus_worker_close(b), 0);
    close_both(n, a);
}

TEST(intent, a_wrong_intent_names_what_is_wrong_and_is_not_recorded)
{
    locus *n = one_node(10, 1, 1);
    locus_worker *w = worker_of(n);
    locus_loader *l;
    const locus_key keys[] = {3, 10};
    CHECK_EQ(locus_loader_open(w, &l), 0);
    CHECK_EQ(locus_intent(w, keys, 1, 5, 5), -EINVAL);
    CHECK_STR(locus_error(), "clock 5");
    CHECK_EQ(locus_intent(w, keys, 1, 5, 4), -EINVAL);
    CHECK_STR(locus_error(), "clock 4");
    CHECK_EQ(locus_intent(w, keys, 1, INT64_MAX, INT64_MIN), -EINVAL);
    CHECK_EQ(locus_intent(w, keys, 2, 5, 6), -EINVAL);
    CHECK_STR(locus_error(), "key 10 (position 1)");
    CHECK_EQ(locus_loader_intent(l, keys, 2, 5, 6), -EINVAL);
    CHECK_STR(locus_error(), "locus_loader_intent: key 10");
    CHECK_EQ(stats_of(n).intents_signaled, 0);
    CHECK_EQ(locus_intent(w, keys, 1, 5, 6), 0);
    CHECK_EQ(locus_loader_intent(l, keys, 1, 5, 6), 0);
    CHECK_EQ(stats_of(n).intents_signaled, 2);
    CHECK_EQ(locus_loader_close(l), 0);
    close_both(n, w);
}

TEST(intent, intents_may_begin_in_the_past_overlap_and_repeat)
{
    locus *n = one_node(10, 1, 1);
    locus_worker *w = worker_of(n);
    const locus_key keys[] = {3, 3, 4};
    for (int i = 0; i < 100; i++) locus_advance_clock(w);
    CHECK_EQ(locus_intent(w, keys, 3, 5, 200), 0);
    CHECK_EQ(locus_intent(w, keys, 3, 5, 6), 0); /* over already */
    CHECK_EQ(locus_intent(w, keys, 3, INT64_MIN, INT64_MAX), 0);
    CHECK_EQ(locus_intent(w, keys, 3, 150, 300), 0);
    CHECK_EQ(locus_intent(w, keys, 3, 150, 400), 0);
    close_both(n, w);
}

/* 16 million keys, a quarter of a million a call. */

enum { CALL = 250000, CALLS = LOCUS_WAITING_KEYS_MAX / CALL };

TEST(intent, a_node_bounds_the_keys_that_wait_for_their_start)
{
    locus *n = one_node(10, 1, 1);
    locus_worker *w = worker_of(n);
    locus_loader *l;
    locus_key *keys = calloc(CALL, sizeof *keys);
    float row = 4;
    CHECK(keys != NULL);
    CHECK_EQ(locus_loader_open(w, &l), 0);
    for (int i = 0; i < CALLS - 1; i++) CHECK_EQ(locus_intent(w, keys, CALL, 10 + i, 1000), 0);
    CHECK_EQ(locus_loader_intent(l, keys, CALL, 5, 6), 0); /* exactly the limit */
    CHECK_EQ(locus_intent(w, keys, 1, 5, 6), -ENOBUFS);
    CHECK_STR(locus_error(), "16000000 keys");
    CHECK_EQ(locus_loader_intent(l, keys, CALL, 5, 6), -ENOBUFS);
    CHECK_STR(locus_error(), "250000 more");
    CHECK_EQ(stats_of(n).intents_signaled, LOCUS_WAITING_KEYS_MAX);
    CHECK_EQ(locus_intent(w, keys, CALL, 0, 1), 0); /* starts now: does not wait */
    CHECK_EQ(locus_set(w, keys, 1, &row), 0);       /* accesses still work */
    CHECK_EQ(locus_pull(w, keys, 1, &row), 0);
    CHECK(row == 4);
    for (int i = 0; i < 5; i++) locus_advance_clock(w); /* the loader's have started */
    CHECK_EQ(locus_intent(w, keys, CALL, 6, 7), 0);
    CHECK_EQ(locus_intent(w, keys, 1, 6, 7), -ENOBUFS);
    CHECK_EQ(locus_loader_close(l), 0);
    CHECK_EQ(locus_worker_close(w), 0); /* its intents end */
    w = worker_of(n);
    for (int i = 0; i < CALLS; i++) CHECK_EQ(locus_intent(w, keys, CALL, 10, 11), 0);
    CHECK_EQ(locus_intent(w, keys, 1, 10, 11), -ENOBUFS);
    free(keys);
    close_both(n, w);
}

TEST(intent, the_bound_is_the_node_s_not_each_worker_s)
{
    locus *n = one_node(10, 1, 2);
    locus_worker *w[2] = {worker_of(n), worker_of(n)};
    locus_key *keys = calloc(CALL, sizeof *keys);
    CHECK(keys != NULL);
    for (int i = 0; i < CALLS; i++) CHECK_EQ(locus_intent(w[i % 2], keys, CALL, 10, 11), 0);
    CHECK_EQ(locus_intent(w[0], keys, 1, 10, 11), -ENOBUFS);
    CHECK_EQ(locus_intent(w[1], keys, 1, 10, 11), -ENOBUFS);
    CHECK_EQ(locus_worker_close(w[1]), 0);
    for (int i = 0; i < CALLS / 2; i++) CHECK_EQ(locus_intent(w[0], keys, CALL, 10, 11), 0);
    CHECK_EQ(locus_intent(w[0], keys, 1, 10, 11), -ENOBUFS);
    free(keys);
    close_both(n, w[0]);
}

/* Advancing the clock does nothing about it: room is looked for when there is none. */
TEST(intent, what_started_on_a_worker_that_signals_no_more_makes_room_for_another)
{
    locus *n = one_node(10, 1, 2);
    locus_worker *w[2] = {worker_of(n), worker_of(n)};
    locus_key *keys = calloc(CALL, sizeof *keys);
    CHECK(keys != NULL);
    for (int i = 0; i < CALLS; i++) CHECK_EQ(locus_intent(w[0], keys, CALL, 1 + i % 2, 11), 0);
    CHECK_EQ(locus_intent(w[1], keys, 1, 10, 11), -ENOBUFS);
    locus_advance_clock(w[0]);
    /* Some thousand fewer than half: w[0] holds them in reserve. */
    for (int i = 0; i < CALLS / 2 - 1; i++) CHECK_EQ(locus_intent(w[1], keys, CALL, 10, 11), 0);
    CHECK_EQ(locus_intent(w[1], keys, CALL, 10, 11), -ENOBUFS);
    CHECK_EQ(locus_worker_close(w[0]), 0);
    free(keys);
    close_both(n, w[1]);
}

TEST(intent, localize_needs_keys_that_exist)
{
    locus *n = one_node(10, 1, 1);
    locus_worker *w = worker_of(n);
    const locus_key keys[] = {3, 9, 3};
    CHECK_EQ(locus_localize(w, keys, 3), 0);
    struct locus_stats s = stats_of(n);
    CHECK_EQ(s.relocated_in + s.relocated_out, 0);
    close_both(n, w);
}
