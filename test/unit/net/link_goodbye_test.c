/* How a link ends: a goodbye, or a last word about the node that failed. */
#include "net/ends.h"
#include "test.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

TEST(link, takes_a_goodbye_behind_everything_queued)
{
    struct end e[2];
    ends_open(e);
    for (uint64_t tag = 0; tag < 5000; tag++) CHECK(ends_put(e[0].link, tag, 100));
    link_bye(e[0].link);
    CHECK(!link_entry(e[0].link, 1));
    TURN_UNTIL(&e[0], &e[1], link_is_drained(e[0].link) && link_peer_is_gone(e[1].link));
    CHECK_EQ(e[1].entries, 5000);
    CHECK(!link_peer_is_gone(e[0].link));
    CHECK(ends_put(e[1].link, 0, 10)); /* the other direction goes on */
    link_bye(e[1].link);
    TURN_UNTIL(&e[0], &e[1], link_peer_is_gone(e[0].link));
    CHECK_EQ(e[0].entries, 1);
    uring_fini(e[0].uring);
    ends_turn_for(&e[1], NULL, 0.05);
    CHECK_EQ(e[0].failures + e[1].failures, 0);
    uring_fini(e[1].uring);
}

/* Whoever says goodbye first: the end of the connection is none of the failures. */
TEST(link, does_not_fail_when_it_ends_after_its_own_goodbye)
{
    struct end e;
    int fd = end_open_to_socket(&e);
    link_bye(e.link);
    ends_turn_for(&e, NULL, 0.01);
    close(fd);
    TURN_UNTIL(&e, NULL, link_peer_is_gone(e.link));
    ends_turn_for(&e, NULL, 0.01);
    CHECK_EQ(e.failures, 0);
    CHECK(!link_entry(e.link, 1));
    uring_fini(e.uring);
}

TEST(link, does_not_fail_when_it_ends_after_the_peers_goodbye)
{
    struct end e;
    uint64_t bytes[64];
    int fd = end_open_to_socket(&e);
    size_t n = ends_frame(bytes, 0, 0, 1, 1);
    n += ends_notice(bytes + n / 8, 1, WIRE_BYE, 0, "");
    ends_say(fd, bytes, n);
    close(fd);
    TURN_UNTIL(&e, NULL, e.link->state != LINK_OPEN);
    CHECK_EQ(e.entries, 1);
    CHECK_EQ(e.failures, 0);
    CHECK(link_peer_is_gone(e.link) && link_is_drained(e.link));
    uring_fini(e.uring);
}

TEST(link, fails_at_a_frame_behind_the_goodbye)
{
    struct end e;
    uint64_t bytes[64];
    int fd = end_open_to_socket(&e);
    size_t n = ends_notice(bytes, 0, WIRE_BYE, 0, "");
    n += ends_frame(bytes + n / 8, 1, 0, 1, 1);
    ends_say(fd, bytes, n);
    end_check_failed(&e, PEER, "sent a frame behind its goodbye");
    end_close(&e, fd);
}

TEST(link, names_the_node_that_was_lost_not_the_messenger)
{
    struct end e[2];
    ends_open(e);
    CHECK(ends_put(e[0].link, 0, 10));
    link_lost(e[0].link, 3, "was silent for 10 s");
    TURN_UNTIL(&e[0], &e[1], e[1].failures > 0);
    CHECK_EQ(e[1].entries, 1);
    CHECK_EQ(e[1].culprit, 3);
    CHECK(strcmp(e[1].reason, "was silent for 10 s") == 0);
    ends_turn_for(&e[0], &e[1], 0.05); /* it closes: no failure for who left */
    CHECK_EQ(e[0].failures, 0);
    ends_close(e);
}

static void reset(int fd)
{
    const struct linger at_once = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
}

/* The notice lies in our socket when sending fails. */
TEST(link, reads_why_before_it_fails_by_a_send)
{
    int fd[2];
    struct end e;
    uint64_t bytes[64];
    ends_connect(fd);
    end_open_by(&e, fd[0], 0, 10, 0);
    ends_say(fd[1], bytes, ends_notice(bytes, 0, WIRE_LOST, 2, "was silent for 7 s"));
    reset(fd[1]);
    CHECK(ends_put(e.link, 0, 100));
    link_flush(e.link);
    CHECK_EQ(uring_start(e.uring, now_ns()), 0); /* the send comes before the receive */
    end_check_failed(&e, 2, "was silent for 7 s");
    CHECK(e.link->send_error != 0);
    uring_fini(e.uring);
}

TEST(link, shows_no_more_of_a_notice_than_a_line_of_text)
{
    char text[300], bytes[400] __attribute__((aligned(8)));
    struct end e;
    int fd = end_open_to_socket(&e);
    memset(text, 'x', sizeof text);
    memcpy(text, "evil \n\033[31m\xff", 12);
    text[sizeof text - 1] = '\0';
    ends_say(fd, bytes, ends_notice(bytes, 0, WIRE_LOST, 2, text));
    end_check_failed(&e, 2, "evil ??[31m?xxx");
    CHECK(strlen(e.reason) < LINK_REASON_BYTES);
    end_close(&e, fd);
}

TEST(link, does_not_believe_in_nodes_that_do_not_exist)
{
    struct end e;
    uint64_t bytes[64];
    int fd = end_open_to_socket(&e);
    ends_say(fd, bytes, ends_notice(bytes, 0, WIRE_LOST, NODES, "is gone"));
    end_check_failed(&e, PEER, "sent a notice of failure about node 4 of 4");
    end_close(&e, fd);
}
