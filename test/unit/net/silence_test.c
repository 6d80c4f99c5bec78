#include "net/tcp.h"

#include "test.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

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

static void check_reason(int fd, uint64_t timeout_ns, const char *wanted)
{
    char reason[SILENCE_REASON_BYTES];
    tcp_describe_silence(fd, timeout_ns, reason);
    CHECK(strcmp(reason, wanted) == 0);
    CHECK(silence_is_reason(reason));
}

/* Its kernel answers for a process that does not read. */
TEST(silence, of_who_acknowledges_is_told_from_that_of_who_is_cut_off)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof a;
    const struct timespec pause = {.tv_nsec = 300000000};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(listener, (struct sockaddr *)&a, sizeof a), 0);
    CHECK_EQ(listen(listener, 1), 0);
    CHECK_EQ(getsockname(listener, (struct sockaddr *)&a, &bytes), 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    CHECK_EQ(send(fd, "beat", 4, MSG_NOSIGNAL), 4);
    check_reason(fd, 60 * SECOND, "was silent for 60 s" TCP_ACKNOWLEDGED);
    nanosleep(&pause, NULL); /* nothing was acknowledged for longer than half of the time-out */
    check_reason(fd, SECOND / 2, "was silent for 0.5 s");
    close(fd);
    close(listener);
    check_reason(-1, SECOND, "was silent for 1 s");
}
