/* The counters that the programs show. */
#include "figures.h"
#include "ending.h"
#include "test.h"

#include <string.h>

TEST(counters, changes_are_differences_and_sums_of_every_counter)
{
    struct locus_stats before = {.pulled_local = 3,
                                 .pulled_replica = 1,
                                 .intents_late = 5,
                                 .owned_now = 9,
                                 .replica_staleness_mean_s = 1};
    struct locus_stats after = {.pulled_local = 10,
                                .pulled_replica = 3,
                                .intents_late = 6,
                                .rounds = 2,
                                .owned_now = 8,
                                .replica_staleness_mean_s = 3};
    struct locus_stats s = counters_change(&before, &after);
    CHECK(s.pulled_local == 7 && s.intents_late == 1 && s.rounds == 2 && s.owned_now == 8);
    CHECK(s.replica_staleness_mean_s == 4); /* 3 reads of 3 s, of which one was of 1 s */
    counters_add(&s, &before);
    CHECK(s.pulled_local == 10 && s.intents_late == 6 && s.rounds == 2 && s.owned_now == 9);
    CHECK(s.replica_staleness_mean_s == 3);
}

TEST(counters, local_share_counts_replicas)
{
    struct locus_stats s = {
        .pulled_local = 1, .pulled_replica = 2, .pushed_local = 3, .pushed_replica = 3};
    CHECK(counters_local_share(&s) == 1);
    s.pulled_remote = 2;
    s.pushed_remote = 1;
    CHECK(counters_local_share(&s) == 0.75);
    CHECK(counters_local_share(&(struct locus_stats){.rounds = 1}) == 1);
}

static void show(const void *nodes)
{
    struct counters c = {.trained = {.pulled_local = 3,
                                     .pulled_remote = 1,
                                     .relocated_in = 7,
                                     .bytes_sent = 2500000,
                                     .messages_sent = 9},
                         .whole = {.pulled_local = 4}};
    int n = *(const int *)nodes;
    counters_show(&c, n ? n : 1, n == 0);
}

TEST(counters, people_see_one_line_and_programs_all_counters)
{
    char said[4096] = "";
    CHECK_EQ(ending_of(show, &(int){2}, said, sizeof said), 0);
    CHECK_EQ(strcmp(said,
                    "accesses in training: 75.00 % without the network; 7 relocations, 0 replicas, "
                    "2.5 MB sent, 9 messages\n"),
             0);
    CHECK_EQ(ending_of(show, &(int){1}, said, sizeof said), 0);
    CHECK_EQ(*said, 0);
    CHECK_EQ(ending_of(show, &(int){0}, said, sizeof said), 0); /* of a program, in JSON */
    CHECK_STR(said,
              "{\"event\":\"stats\",\"pulled_local\":3,\"pulled_replica\":0,\"pulled_remote\":1,");
    CHECK_STR(said, "\"relocated_in\":7,");
    CHECK_STR(said, "\"replica_staleness_mean_s\":0,\"whole_pulled_local\":4,");
    CHECK_STR(said, "\"whole_intents_late\":0}\n");
}
