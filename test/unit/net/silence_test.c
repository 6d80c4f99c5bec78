#include "net/tcp.h"

#include "net/loopback.h"
#include "test.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

TEST(silence, heartbeats_are_four_in_a_time_out_and_two_a_second_at_least)
{
    CHECK_EQ(silence_beat_ns(SECOND), SECOND / 4);
    CHECK_EQ(silence_beat_ns(60 * SECOND), SECOND / 2);
}

TEST(silence, recent_is_half_a_time_out_after_a_long_one)
{
    struct silence s = {0};
    silence_note(&s, 10 * SECOND, 10 * SECOND + SECOND / 2 - 1, SECOND); /* a pause like any */
    CHECK_EQ(silence_recent_ns(&s, 11 * SECOND, SECOND), 0);
    silence_note(&s, 20 * SECOND, 22 * SECOND, SECOND);
    CHECK_EQ(silence_recent_ns(&s, 22 * SECOND, SECOND), 2 * SECOND);
    CHECK_EQ(silence_recent_ns(&s, 22 * SECOND + SECOND / 2 - 1, SECOND), 2 * SECOND);
    CHECK_EQ(silence_recent_ns(&s, 22 * SECOND + SECOND / 2, SECOND), 0);
}

TEST(silence, is_reason_knows_its_sentence_by_how_it_begins)
{
    CHECK(silence_is_reason(SILENCE_REASON "3.0 s"));
    CHECK(!silence_is_reason("closed its connection"));
    CHECK(!silence_is_reason("was silent"));
}

static void check_reason(int fd, uint64_t timeout_ns, const char *wanted)
{
    char reason[SILENCE_REASON_BYTES];
    tcp_describe_silence(fd, timeout_ns, reason);
    CHECK(strcmp(reason, wanted) == 0);
    CHECK(silence_is_reason(reason));
}

/* Its kernel answers for a process that does not read. */
TEST(silence, describe_tells_a_peer_that_acknowledges_from_one_that_is_cut_off)
{
    int fd[2];
    loopback_pair(fd);
    CHECK_EQ(send(fd[0], "beat", 4, MSG_NOSIGNAL), 4);
    check_reason(fd[0], 60 * SECOND, "was silent for 60 s" TCP_ACKNOWLEDGED);
    sleep_ms(300); /* nothing was acknowledged for longer than half of the time-out */
    check_reason(fd[0], SECOND / 2, "was silent for 0.5 s");
    close(fd[0]);
    close(fd[1]);
    check_reason(-1, SECOND, "was silent for 1 s");
}
