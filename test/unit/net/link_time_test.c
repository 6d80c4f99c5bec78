/* Silence and heartbeats. Where time matters it is the test's own: a ring goes by the time that it
 * is told. */
#include "net/ends.h"
#include "test.h"

#include <unistd.h>

static void go_on_to(struct end *e, uint64_t now)
{
    e->now = now;
    end_turn(e);
    uring_tick(e->uring, now);
    end_turn(e);
}

/* An end whose time begins at 1000 s; its peer is a bare socket, which answers nothing. */
static int open_end_in_time(struct end *e, double timeout_s, double staleness_s)
{
    int fd[2];
    ends_connect(fd);
    end_open_by(e, fd[0], 0, timeout_s, 0);
    if (staleness_s > 0) uring_speak_for(e->uring, staleness_s);
    e->now = 1000 * SECOND;
    CHECK_EQ(uring_start(e->uring, e->now), 0);
    return fd[1];
}

static int open_end_that_speaks(struct end *e, double timeout_s, double staleness_s)
{
    int fd = open_end_in_time(e, timeout_s, staleness_s);
    uring_all_run(e->uring);
    return fd;
}

static int open_end_of_all(struct end *e, double timeout_s)
{
    return open_end_that_speaks(e, timeout_s, 0);
}

/* A peer whose mesh is not complete: it waits for others, and its ring has not started. */
TEST(link, does_not_count_silence_before_all_nodes_run)
{
    struct end e;
    uint64_t bytes[64], t = 1000 * SECOND;
    int fd = open_end_in_time(&e, 10, 0);
    for (int i = 0; i < 40; i++) go_on_to(&e, t += SECOND);
    CHECK_EQ(e.failures, 0);
    size_t n = ends_frame(bytes, 0, 0, 1, 1);
    ends_say(fd, bytes, n); /* it has started */
    TURN_UNTIL(&e, NULL, end_has_heard(&e, n));
    for (int i = 0; i < 10; i++) go_on_to(&e, t += SECOND);
    CHECK_EQ(e.failures, 0);
    go_on_to(&e, t += SECOND);
    end_check_failed(&e, PEER, "was silent for 10 s");
    end_close(&e, fd);
}

TEST(link, counts_the_silence_of_a_peer_that_was_never_heard_once_all_run)
{
    struct end e;
    uint64_t t = 1000 * SECOND;
    int fd = open_end_in_time(&e, 10, 0);
    for (int i = 0; i < 20; i++) go_on_to(&e, t += SECOND);
    uring_all_run(e.uring);
    for (int i = 0; i < 11; i++) go_on_to(&e, t += SECOND);
    CHECK_EQ(e.failures, 0);
    go_on_to(&e, t += SECOND);
    end_check_failed(&e, PEER, "was silent for 10 s");
    end_close(&e, fd);
}

TEST(link, fails_when_the_peer_is_silent)
{
    struct end e;
    uint64_t bytes[64], t = 1000 * SECOND;
    int fd = open_end_of_all(&e, 10);
    for (int i = 0; i < 5; i++) go_on_to(&e, t += SECOND);
    size_t n = ends_frame(bytes, 0, 0, 1, 1);
    ends_say(fd, bytes, n - 1); /* any byte counts */
    TURN_UNTIL(&e, NULL, end_has_heard(&e, n - 1));
    for (int i = 0; i < 10; i++) go_on_to(&e, t += SECOND);
    /* the moment that TCP may take to try again: silence.h */
    go_on_to(&e, t += 599 * SECOND / 1000);
    CHECK_EQ(e.failures, 0);
    go_on_to(&e, t + SECOND / 1000);
    CHECK_EQ(e.failures, 1);
    end_check_failed(&e, PEER, "was silent for 10 s");
    CHECK(uring_next_tick_ns(e.uring) == UINT64_MAX);
    end_close(&e, fd);
}

/* Stopped for a minute, say: whoever was alive then gets the time that was left to it. */
TEST(link, does_not_count_time_in_which_its_own_thread_did_not_run)
{
    struct end e;
    uint64_t t = 1000 * SECOND;
    int fd = open_end_of_all(&e, 10);
    for (int i = 0; i < 5; i++) go_on_to(&e, t += SECOND);
    go_on_to(&e, t += 60 * SECOND);
    for (int i = 0; i < 3; i++) go_on_to(&e, t += SECOND);
    CHECK_EQ(e.failures, 0);
    for (int i = 0; i < 4; i++) go_on_to(&e, t += SECOND);
    CHECK_EQ(e.failures, 1);
    end_close(&e, fd);
}

static uint64_t frames_sent(const struct end *e)
{
    return stats_of(e).messages_sent;
}

static void check_heartbeats(double timeout_s, double staleness_s, uint64_t interval_ns)
{
    struct end e;
    uint64_t t = 1000 * SECOND;
    int fd = open_end_that_speaks(&e, timeout_s, staleness_s);
    CHECK_EQ(uring_next_tick_ns(e.uring), t + interval_ns);
    go_on_to(&e, t += interval_ns - 1);
    CHECK_EQ(frames_sent(&e), 0);
    go_on_to(&e, t += 1);
    TURN_UNTIL(&e, NULL, frames_sent(&e) == 1);
    CHECK_EQ(stats_of(&e).bytes_sent, sizeof(struct wire_frame));
    CHECK_EQ(uring_next_tick_ns(e.uring), t + interval_ns);
    /* A frame of any kind counts as one. */
    e.now = t += interval_ns / 2;
    end_turn(&e);
    CHECK(ends_put(e.link, 0, 1));
    link_flush(e.link);
    TURN_UNTIL(&e, NULL, frames_sent(&e) == 2);
    go_on_to(&e, t += interval_ns - 1);
    CHECK_EQ(frames_sent(&e), 2);
    go_on_to(&e, t + 1);
    TURN_UNTIL(&e, NULL, frames_sent(&e) == 3);
    end_close(&e, fd);
}

TEST(link, sends_a_heartbeat_every_quarter_of_the_timeout_and_twice_a_second_when_it_is_idle)
{
    check_heartbeats(10, 0, SECOND / 2);
    check_heartbeats(0.4, 0, SECOND / 10);
}

TEST(link, sends_four_heartbeats_in_the_time_that_replicas_may_be_old)
{
    check_heartbeats(10, 0.2, SECOND / 20);
    check_heartbeats(10, 60, SECOND / 2);
}

/* Heartbeats alone keep both ends content, in real time and asleep in between. */
TEST(link, stays_when_both_ends_are_idle)
{
    struct end e[2];
    uint64_t begin = now_ns();
    ends_open_by(e, 0, 0.4, 0);
    unsigned sleeps = 0;
    for (; now_ns() < begin + SECOND || frames_sent(&e[0]) < 5; sleeps++) {
        for (int i = 0; i < 2; i++) {
            uint64_t tick = uring_next_tick_ns(e[i].uring), soon = now_ns() + SECOND / 50;
            end_wait(e[i].uring, tick < soon ? tick : soon);
            uring_poll(e[i].uring, now_ns());
            uring_tick(e[i].uring, now_ns());
        }
    }
    double seconds = (double)(now_ns() - begin) * 1e-9;
    CHECK_EQ(e[0].failures + e[1].failures, 0);
    CHECK((double)frames_sent(&e[0]) <= 10 * seconds + 1);
    CHECK(e[0].heartbeats > 0 && e[1].heartbeats > 0); /* and their rings are told */
    CHECK(sleeps < 300 * seconds);
    ends_close(e);
}
