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

TEST_ON_NODE(intent, a_wrong_intent_names_what_is_wrong_and_is_not_recorded, 10, 1)
{
    locus_loader *l;
    const locus_key keys[] = {3, 10};
    CHECK_EQ(locus_loader_open(w, &l), 0);
    REFUSED(locus_intent(w, keys, 1, 5, 5), -EINVAL, "clock 5");
    REFUSED(locus_intent(w, keys, 1, 5, 4), -EINVAL, "clock 4");
    CHECK_EQ(locus_intent(w, keys, 1, INT64_MAX, INT64_MIN), -EINVAL);
    REFUSED(locus_intent(w, keys, 2, 5, 6), -EINVAL, "key 10 (position 1)");
    REFUSED(locus_loader_intent(l, keys, 2, 5, 6), -EINVAL, "locus_loader_intent: key 10");
    CHECK_EQ(stats_of(n).intents_signaled, 0);
    CHECK_EQ(locus_intent(w, keys, 1, 5, 6), 0);
    CHECK_EQ(locus_loader_intent(l, keys, 1, 5, 6), 0);
    CHECK_EQ(stats_of(n).intents_signaled, 2);
    CHECK_EQ(locus_loader_close(l), 0);
}

TEST_ON_NODE(intent, intents_may_begin_in_the_past_overlap_and_repeat, 10, 1)
{
    const locus_key keys[] = {3, 3, 4};
    for (int i = 0; i < 100; i++) locus_advance_clock(w);
    CHECK_EQ(locus_intent(w, keys, 3, 5, 200), 0);
    CHECK_EQ(locus_intent(w, keys, 3, 5, 6), 0); /* over already */
    CHECK_EQ(locus_intent(w, keys, 3, INT64_MIN, INT64_MAX), 0);
    CHECK_EQ(locus_intent(w, keys, 3, 150, 300), 0);
    CHECK_EQ(locus_intent(w, keys, 3, 150, 400), 0);
}

/* Every row is here, so an intent has no effect, and costs nothing while it waits. */
TEST_ON_NODE(intent, on_a_cluster_of_one_any_number_may_wait, 10, 1)
{
    enum { CALL = 1000000 };
    CLOSED_BY(free_at) locus_key *keys = calloc(CALL, sizeof *keys);
    CHECK(keys != NULL);
    for (int i = 0; i <= LOCUS_WAITING_KEYS_MAX / CALL; i++)
        CHECK_EQ(locus_intent(w, keys, CALL, 10 + i, 1000), 0);
    CHECK_EQ(stats_of(n).intents_signaled, LOCUS_WAITING_KEYS_MAX + CALL);
}

TEST_ON_NODE(intent, localize_needs_keys_that_exist, 10, 1)
{
    const locus_key keys[] = {3, 9, 3};
    CHECK_EQ(locus_localize(w, keys, 3), 0);
    struct locus_stats s = stats_of(n);
    CHECK_EQ(s.relocated_in + s.relocated_out, 0);
}
