/* Silence and heartbeats of links. Where time matters it is the test's own: a ring goes by the time
 * that it is told. */
#include "net/ends.h"
#include "test.h"

#include <unistd.h>

/* An end whose time begins at 1000 s; its peer is a bare socket, which answers nothing. */
struct timed {
    struct facing f;
    struct end *end;
};

static void timed_begin(struct timed *t)
{
    facing_open(&t->f, (struct ends_how){0});
    t->end = &t->f.end;
    t->end->now = 1000 * SECOND;
    CHECK_EQ(uring_start(t->end->uring, t->end->now), 0);
}

static void timed_end(struct timed *t)
{
    facing_end(&t->f);
}

static void go_on(struct timed *t, uint64_t ns)
{
    t->end->now += ns;
    end_turn(t->end);
    uring_tick(t->end->uring, t->end->now);
    end_turn(t->end);
}

static void seconds_pass(struct timed *t, int seconds)
{
    for (int i = 0; i < seconds; i++) go_on(t, SECOND);
}

/* A peer whose mesh is not complete: it waits for others, and its ring has not started. */
TEST_WITH(link, silence_before_all_nodes_run_does_not_count, timed, t)
{
    seconds_pass(t, 40);
    CHECK_EQ(t->end->failures, 0);
    size_t n = ends_say_entry(t->f.fd, 0, 0, 1); /* it has started */
    TURN_UNTIL(t->end, NULL, end_has_heard(t->end, n));
    seconds_pass(t, 10);
    CHECK_EQ(t->end->failures, 0);
    seconds_pass(t, 1);
    end_check_failed(t->end, PEER, "was silent for 10 s");
}

TEST_WITH(link, silence_of_a_peer_that_was_never_heard_counts_once_all_run, timed, t)
{
    seconds_pass(t, 20);
    uring_all_run(t->end->uring);
    seconds_pass(t, 11);
    CHECK_EQ(t->end->failures, 0);
    seconds_pass(t, 1);
    end_check_failed(t->end, PEER, "was silent for 10 s");
}

TEST_WITH(link, fails_when_the_peer_is_silent, timed, t)
{
    uint64_t bytes[64];
    uring_all_run(t->end->uring);
    seconds_pass(t, 5);
    size_t n = ends_frame(bytes, 0, 0, 1, 1);
    ends_say(t->f.fd, bytes, n - 1); /* any byte counts */
    TURN_UNTIL(t->end, NULL, end_has_heard(t->end, n - 1));
    seconds_pass(t, 10);
    go_on(t, 599 * SECOND / 1000); /* the moment that TCP may take to try again: tcp.h */
    CHECK_EQ(t->end->failures, 0);
    go_on(t, SECOND / 1000);
    CHECK_EQ(t->end->failures, 1);
    end_check_failed(t->end, PEER, "was silent for 10 s");
    CHECK(uring_next_tick_ns(t->end->uring) == UINT64_MAX);
}

/* Stopped for a minute, say: whoever was alive then gets the time that was left to it. */
TEST_WITH(link, time_in_which_its_own_thread_did_not_run_is_no_silence, timed, t)
{
    uring_all_run(t->end->uring);
    seconds_pass(t, 5);
    go_on(t, 60 * SECOND);
    seconds_pass(t, 3);
    CHECK_EQ(t->end->failures, 0);
    seconds_pass(t, 4);
    CHECK_EQ(t->end->failures, 1);
}

/* How often: silence_test.c. A frame of any kind counts as one. */
TEST_WITH(link, heartbeat_is_sent_when_it_is_idle, timed, t)
{
    uring_all_run(t->end->uring);
    go_on(t, SECOND / 2 - 1);
    CHECK_EQ(stats_of(t->end).messages_sent, 0);
    go_on(t, 1);
    TURN_UNTIL(t->end, NULL, stats_of(t->end).bytes_sent == sizeof(struct wire_frame));
    go_on(t, SECOND / 4);
    CHECK(ends_put(t->end->link, 0, 1));
    link_flush(t->end->link);
    TURN_UNTIL(t->end, NULL, stats_of(t->end).messages_sent == 2);
    go_on(t, SECOND / 2 - 1);
    CHECK_EQ(stats_of(t->end).messages_sent, 2);
    CHECK_EQ(uring_next_tick_ns(t->end->uring), t->end->now + 1);
}

/* Heartbeats alone keep both ends content, in real time and asleep in between. */
LINK_TEST(idle_ends_stay_by_their_heartbeats)
{
    struct end e[2];
    uint64_t begin = now_ns();
    ends_open(e, (struct ends_how){.is_shm = is_shm, .timeout_s = 0.4});
    unsigned sleeps = 0;
    for (; now_ns() < begin + SECOND || stats_of(&e[0]).messages_sent < 5; sleeps++) {
        for (int i = 0; i < 2; i++) {
            uint64_t tick = uring_next_tick_ns(e[i].uring), soon = now_ns() + SECOND / 50;
            end_wait(&e[i], tick < soon ? tick : soon);
            uring_poll(e[i].uring, now_ns());
            uring_tick(e[i].uring, now_ns());
        }
    }
    double seconds = (double)(now_ns() - begin) * 1e-9;
    CHECK_EQ(e[0].failures + e[1].failures, 0);
    CHECK((double)stats_of(&e[0]).messages_sent <= 10 * seconds + 5);
    CHECK(e[0].heartbeats > 0 && e[1].heartbeats > 0); /* and their rings are told */
    CHECK(sleeps < 300 * seconds);
    ends_close(e);
}

LINK_TEST(peer_that_was_silent_is_told)
{
    struct end e[2];
    ends_open(e, (struct ends_how){.is_shm = is_shm, .timeout_s = 1});
    TURN_UNTIL(&e[0], &e[1], ends_are_shm(e) == is_shm);
    while (e[0].failures == 0) {
        uring_tick(e[0].uring, now_ns());
        end_turn(&e[0]);
    }
    end_check_failed(&e[0], PEER, "was silent for 1 s");
    TURN_UNTIL(&e[1], NULL, e[1].failures > 0);
    CHECK_STR(e[1].reason, "was silent for 1");
    ends_close(e);
}
