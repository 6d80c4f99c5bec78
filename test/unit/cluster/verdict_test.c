#include "cluster/server.h"

#include "test.h"

static unsigned pick(struct verdict *v, char reason[VERDICT_REASON_BYTES])
{
    CHECK_EQ(verdict_due_ns(v), 100);
    unsigned rank = verdict_pick(v, 5000, reason);
    CHECK_EQ(verdict_due_ns(v), UINT64_MAX);
    return rank;
}

TEST(verdict, pick_is_whom_most_accuse)
{
    struct verdict v = {0};
    char reason[VERDICT_REASON_BYTES];
    CHECK_EQ(verdict_due_ns(&v), UINT64_MAX);
    verdict_accuse(&v, 1, 7, "broke the protocol", 100);
    verdict_accuse(&v, 2, 1, "was silent for 10 s", 150);
    verdict_accuse(&v, 3, 1, "closed the connection", 160);
    CHECK_EQ(pick(&v, reason), 1);
    CHECK_STR(reason, "was silent for 10 s, as 2 nodes say"); /* not what node 7 did */
}

TEST(verdict, pick_is_the_higher_rank_of_two_that_accuse_each_other)
{
    struct verdict v = {0};
    char reason[VERDICT_REASON_BYTES];
    for (int round = 0; round < 2; round++) {
        verdict_accuse(&v, 3 - 2 * round, 1 + 2 * round, "was silent for 10 s", 100);
        verdict_accuse(&v, 1 + 2 * round, 3 - 2 * round, "was silent for 10 s", 100);
        CHECK_EQ(pick(&v, reason), 3);
        CHECK_STR(reason, "was silent for 10 s to node 1, and that one to it");
    }
}

/* A link each shard says the same. */
TEST(verdict, accuse_counts_an_accuser_once)
{
    struct verdict v = {0};
    char reason[VERDICT_REASON_BYTES];
    for (int i = 0; i < 5; i++) verdict_accuse(&v, 2, 0, "was silent for 10 s", 100);
    for (unsigned accuser = 3; accuser < 5; accuser++)
        verdict_accuse(&v, accuser, 1, "was silent for 10 s", 100);
    CHECK_EQ(v.count, 3);
    CHECK_EQ(verdict_pick(&v, 5000, reason), 1);
    verdict_accuse(&v, 2, 0, "was silent for 10 s", 100);
    CHECK_EQ(pick(&v, reason), 0);
    CHECK_STR(reason, "was silent for 10 s, as node 2 says");
}

TEST(verdict, pick_is_the_only_accuser_if_it_accuses_all_others)
{
    struct verdict v = {0};
    char reason[VERDICT_REASON_BYTES];
    for (unsigned rank = 1; rank < 4; rank++)
        verdict_accuse(&v, 0, rank, "was silent for 10 s", 100);
    CHECK_EQ(verdict_pick(&v, 4, reason), 0);
    CHECK_STR(reason, "was cut off: it found all other nodes silent");
    for (unsigned rank = 1; rank < 4; rank++)
        verdict_accuse(&v, 0, rank, "was silent for 10 s", 100);
    CHECK_EQ(verdict_pick(&v, 5, reason), 3); /* one other is heard */
    CHECK_STR(reason, "was silent for 10 s, as node 0 says");
    verdict_forget(&v, 0);
    verdict_accuse(&v, 0, 1, "was silent for 10 s", 100);
    CHECK_EQ(verdict_pick(&v, 2, reason), 1); /* of two nobody knows */
}

TEST(verdict, accusations_are_bounded)
{
    struct verdict v = {0};
    char reason[VERDICT_REASON_BYTES];
    for (unsigned i = 0; i < 3 * VERDICT_MAX; i++)
        verdict_accuse(&v, i, 4000, "was silent for 10 s", 100);
    CHECK_EQ(v.count, VERDICT_MAX);
    CHECK_EQ(pick(&v, reason), 4000);
}

/* Where the others go on they still do not hear each other. */
TEST(verdict, pick_forgets_what_is_said_of_one_that_is_lost_or_by_it)
{
    struct verdict v = {0};
    char reason[VERDICT_REASON_BYTES];
    verdict_accuse(&v, 5, 2, "was silent for 10 s", 100);
    verdict_accuse(&v, 1, 2, "was silent for 10 s", 110);
    verdict_accuse(&v, 3, 4, "was silent for 10 s", 120);
    verdict_accuse(&v, 2, 6, "was silent for 10 s", 130);
    CHECK_EQ(verdict_pick(&v, 7, reason), 2);
    CHECK_EQ(verdict_due_ns(&v), 100);
    CHECK_EQ(verdict_pick(&v, 6, reason), 4);
    CHECK_EQ(verdict_due_ns(&v), UINT64_MAX);
    verdict_accuse(&v, 1, 3, "was silent for 10 s", 300);
    verdict_accuse(&v, 3, 1, "was silent for 10 s", 310);
    verdict_forget(&v, 1);
    CHECK_EQ(verdict_due_ns(&v), UINT64_MAX);
}
