#include "net/silence.h"

#include "test.h"

#define SECOND UINT64_C(1000000000)

TEST(silence, beats_are_four_in_a_time_out_and_two_a_second_at_least)
{
    CHECK_EQ(silence_beat_ns(SECOND), SECOND / 4);
    CHECK_EQ(silence_beat_ns(60 * SECOND), SECOND / 2);
}

TEST(silence, beats_are_four_in_the_time_that_replicas_may_be_old)
{
    CHECK_EQ(silence_shorter_beat_ns(SECOND / 2, 1), SECOND / 4);
    CHECK_EQ(silence_shorter_beat_ns(SECOND / 2, 2), SECOND / 2);
    CHECK_EQ(silence_shorter_beat_ns(SECOND / 2, 1e9), SECOND / 2);
    CHECK_EQ(silence_shorter_beat_ns(SECOND / 2, 1e-9), SECOND / 1000);
}

TEST(silence, who_was_cut_off_is_not_believed_for_half_a_time_out)
{
    struct silence s = {0};
    silence_note(&s, 10 * SECOND, 10 * SECOND + SECOND / 2 - 1, SECOND); /* a pause like any */
    CHECK_EQ(silence_recent_ns(&s, 11 * SECOND, SECOND), 0);
    silence_note(&s, 20 * SECOND, 22 * SECOND, SECOND);
    CHECK_EQ(silence_recent_ns(&s, 22 * SECOND, SECOND), 2 * SECOND);
    CHECK_EQ(silence_recent_ns(&s, 22 * SECOND + SECOND / 2 - 1, SECOND), 2 * SECOND);
    CHECK_EQ(silence_recent_ns(&s, 22 * SECOND + SECOND / 2, SECOND), 0);
}

TEST(silence, is_known_by_how_its_sentence_begins)
{
    CHECK(silence_is_reason(SILENCE_REASON "3.0 s"));
    CHECK(!silence_is_reason("closed its connection"));
    CHECK(!silence_is_reason("was silent"));
}
