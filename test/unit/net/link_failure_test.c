/* How a link fails, and what it says of that. */
#include "net/ends.h"
#include "test.h"

#include <unistd.h>

static void check_rejects(const void *bytes, size_t n, const char *reason)
{
    struct end e;
    char rest[8];
    ssize_t got;
    int fd = end_open_to_socket(&e);
    ends_say(fd, bytes, n);
    end_check_failed(&e, PEER, reason);
    CHECK_EQ(e.entries, 0);
    while ((got = recv(fd, rest, sizeof rest, 0)) > 0) continue; /* it says why it leaves */
    CHECK_EQ(got, 0);                                            /* and the peer sees the end */
    end_close(&e, fd);
}

/* A frame that validates, to be spoilt. */
static struct wire_frame *sound_frame(uint64_t bytes[64])
{
    ends_frame(bytes, 0, 0, 1, 3);
    return (void *)bytes;
}

TEST(link, fails_at_frames_that_do_not_validate)
{
    uint64_t bytes[64];
    size_t n = ends_frame(bytes, 0, 0, 1, 3);
    sound_frame(bytes)->magic ^= 1;
    check_rejects(bytes, n, "sent bytes that are no frame of locus");
    sound_frame(bytes)->version = 99;
    check_rejects(bytes, n, "sent a frame of another protocol version");
    sound_frame(bytes)->kind = 99;
    check_rejects(bytes, n, "sent a frame of no known kind");
    sound_frame(bytes)->body_bytes = LINK_FRAME_BYTES + 8;
    check_rejects(bytes, n, "sent a frame larger than agreed");
    sound_frame(bytes)->body_bytes -= 1;
    check_rejects(bytes, n, "sent a frame whose length is not a multiple of 8");
    sound_frame(bytes)->sequence = 1;
    check_rejects(bytes, n, "sent a frame out of sequence");
    struct wire_entry *x = (void *)(sound_frame(bytes) + 1);
    x->length = 5000;
    check_rejects(bytes, n, "sent an entry longer than its frame");
}

/* A header is judged when it is there, not when its frame is whole. */
TEST(link, does_not_wait_for_the_rest_of_a_bad_frame)
{
    uint64_t bytes[64];
    ends_frame(bytes, 3, 0, 1, 3);
    check_rejects(bytes, 40, "out of sequence");
}

TEST(link, checks_the_sequence_of_later_frames)
{
    struct end e;
    uint64_t bytes[64];
    int fd = end_open_to_socket(&e);
    size_t n = ends_frame(bytes, 0, 0, 1, 3);
    ends_say(fd, bytes, n);
    ends_say(fd, bytes, n); /* once more */
    end_check_failed(&e, PEER, "sent a frame out of sequence");
    CHECK_EQ(e.entries, 1);
    end_close(&e, fd);
}

TEST(link, fails_when_its_owner_says_so)
{
    struct end e;
    uint64_t bytes[64];
    int fd = end_open_to_socket(&e);
    e.veto = "a key that does not exist";
    size_t n = ends_frame(bytes, 0, 0, 1, 3);
    ends_frame(bytes + n / 8, 1, 1, 1, 3);
    ends_say(fd, bytes, 2 * n);
    end_check_failed(&e, PEER, "sent a key that does not exist");
    end_close(&e, fd);
}

TEST(link, fails_when_the_peer_dies_in_the_middle_of_a_frame)
{
    struct end e;
    uint64_t bytes[64];
    int fd = end_open_to_socket(&e);
    size_t n = ends_frame(bytes, 0, 0, 1, 3);
    ends_say(fd, bytes, n);
    ends_say(fd, bytes, 20);
    close(fd);
    end_check_failed(&e, PEER, "closed the connection");
    CHECK_EQ(e.entries, 1);
    uring_fini(e.uring);
}

/* As the kernel ends the connections of a killed process that had not read everything. */
TEST(link, fails_when_the_connection_is_reset)
{
    struct end e;
    int fd = end_open_to_socket(&e);
    ends_put(e.link, 0, 100);
    link_flush(e.link);
    ends_turn_for(&e, NULL, 0.01);
    close(fd);
    end_check_failed(&e, PEER, "closed the connection");
    uring_fini(e.uring);
}

TEST(link, fails_when_the_peer_dies_while_much_is_under_way)
{
    struct end e;
    int fd = end_open_to_socket(&e);
    for (uint64_t sent = 0; e.link->queued_bytes < LINK_CREDIT_BYTES; sent++) {
        CHECK(ends_put(e.link, sent, 1000));
        if (sent % 100 == 0) end_turn(&e);
    }
    link_flush(e.link);
    end_turn(&e);
    close(fd);
    end_check_failed(&e, PEER, "closed the connection");
    CHECK_EQ(e.link->queued_bytes, 0);
    uring_fini(e.uring);
}

struct order {
    unsigned told[NODES], count;
};

static void note_failed(void *context, unsigned peer, unsigned culprit, const char *reason)
{
    struct order *o = context;
    CHECK_EQ(culprit, 0);
    CHECK_STR(reason, "failed");
    o->told[o->count++] = peer;
}

/* The first one names the node that is to blame for the others. */
TEST(link, failures_are_told_in_their_order)
{
    int fd[NODES][2];
    struct order o = {0};
    struct uring *u;
    struct link *l[NODES];
    const struct link_events events = {&o, end_on_frame, note_failed, NULL};
    CHECK_EQ(uring_init(&u, &events, NODES, 0, 10, 0), 0);
    for (unsigned peer = 1; peer < NODES; peer++) {
        ends_connect(fd[peer]);
        CHECK_EQ(uring_add_link(u, peer, fd[peer][0], &l[peer]), 0);
    }
    CHECK_EQ(uring_start(u, now_ns()), 0);
    link_fail(l[2], 0, "failed");
    link_fail(l[3], 0, "failed");
    CHECK(uring_poll(u, now_ns()) >= 2);
    link_fail(l[1], 0, "failed");
    link_fail(l[2], 0, "failed again");
    uring_poll(u, now_ns());
    CHECK_EQ(o.count, 3);
    CHECK(o.told[0] == 2 && o.told[1] == 3 && o.told[2] == 1);
    for (unsigned peer = 1; peer < NODES; peer++) close(fd[peer][1]);
    uring_fini(u);
}
