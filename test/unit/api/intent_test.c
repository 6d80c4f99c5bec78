/* Clocks and intents, on a cluster of one: what is refused, and the bound on keys that wait. */
#include "one_node.h"

TEST_ON_NODE(intent, calls_refuse_wrong_clocks_and_keys, 10, 1)
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

/* Every row is here, so an intent has no effect, and costs nothing while it waits. */
TEST_ON_NODE(intent, any_number_may_wait_on_one_node, 10, 1)
{
    enum { CALL = 1000000 };
    CLOSED_BY(free_at) locus_key *keys = calloc(CALL, sizeof *keys);
    CHECK(keys != NULL);
    for (int i = 0; i <= LOCUS_WAITING_KEYS_MAX / CALL; i++)
        CHECK_EQ(locus_intent(w, keys, CALL, 10 + i, 1000), 0);
    CHECK_EQ(stats_of(n).intents_signaled, LOCUS_WAITING_KEYS_MAX + CALL);
}
