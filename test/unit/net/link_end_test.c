/* How a link ends: a goodbye, a failure and what is said of it, or a last word about the node that
 * failed; and what its ends agree on before they have shared memory. */
#include "net/ends.h"
#include "test.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- failures -------------------------------------------------------------------------------- */

/* That each kind of bad frame is told is wire_test.c's. The peer hears why, and sees the end. */
TEST(link, fails_at_a_bad_frame_with_its_reason)
{
    static const struct {
        const char *reason;
        size_t at, bytes; /* what is replaced, and how many bytes are sent */
        uint32_t value;
    } cases[] = {
        {"sent bytes that are no frame of locus", offsetof(struct wire_frame, magic), 96, 7},
        {"sent a frame larger than agreed", offsetof(struct wire_frame, body_bytes), 96,
         LINK_FRAME_BYTES + 8},
        /* judged when the header is there */
        {"sent a frame out of sequence", offsetof(struct wire_frame, sequence), 40, 3},
        {"sent an entry longer than its frame",
         sizeof(struct wire_frame) + offsetof(struct wire_entry, length), 96, 5000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct facing f;
        char bytes[512] __attribute__((aligned(8)));
        facing_begin(&f);
        CHECK_EQ(ends_frame(bytes, 0, 0, 1, 3), 96);
        memcpy(bytes + cases[i].at, &cases[i].value, sizeof cases[i].value);
        ends_say(f.fd, bytes, cases[i].bytes);
        end_check_failed(&f.end, PEER, cases[i].reason);
        CHECK_EQ(f.end.entries, 0);
        ssize_t got;
        while ((got = recv(f.fd, bytes, sizeof bytes, 0)) > 0) continue;
        CHECK_EQ(got, 0);
        facing_end(&f);
    }
}

FACING_TEST(fails_when_a_frame_comes_twice)
{
    ends_say_entry(f->fd, 0, 0, 3);
    ends_say_entry(f->fd, 0, 0, 3);
    end_check_failed(&f->end, PEER, "sent a frame out of sequence");
    CHECK_EQ(f->end.entries, 1);
}

FACING_TEST(fails_when_its_owner_says_so)
{
    f->end.veto = "a key that does not exist";
    ends_say_entry(f->fd, 0, 0, 3);
    ends_say_entry(f->fd, 1, 1, 3);
    end_check_failed(&f->end, PEER, "sent a key that does not exist");
}

/* In the middle of a frame. */
FACING_TEST(fails_when_the_peer_dies)
{
    uint64_t bytes[64];
    ends_say_entry(f->fd, 0, 0, 3);
    ends_frame(bytes, 1, 1, 1, 3);
    ends_say(f->fd, bytes, 20);
    close(f->fd);
    f->fd = -1;
    end_check_failed(&f->end, PEER, "closed the connection");
    CHECK_EQ(f->end.entries, 1);
}

/* As the kernel ends the connections of a killed process that had not read everything. */
FACING_TEST(fails_when_the_connection_is_reset_while_much_is_under_way)
{
    struct end *e = &f->end;
    for (uint64_t sent = 0; e->link->queued_bytes < LINK_CREDIT_BYTES; sent++) {
        CHECK(ends_put(e->link, sent, 1000));
        if (sent % 100 == 0) end_turn(e);
    }
    link_flush(e->link);
    end_turn(e);
    close(f->fd);
    f->fd = -1;
    end_check_failed(e, PEER, "closed the connection");
    CHECK_EQ(e->link->queued_bytes, 0);
}

LINK_TEST(what_was_written_is_read_before_the_failure)
{
    struct end e[2];
    ends_open(e, (struct ends_how){.is_shm = is_shm});
    if (is_shm) TURN_UNTIL(&e[0], &e[1], ends_are_shm(e));
    for (uint64_t i = 0; i < 100; i++) CHECK(ends_put(e[0].link, i, 5));
    link_flush(e[0].link);
    TURN_UNTIL(&e[0], NULL, link_is_drained(e[0].link));
    uring_fini(e[0].uring);
    end_check_failed(&e[1], PEER, "closed the connection");
    CHECK_EQ(e[1].entries, 100);
    uring_fini(e[1].uring);
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
    const struct uring_config c = {
        .events = {&o, end_on_frame, note_failed, NULL}, .nodes = NODES, .peer_timeout_s = 10};
    CHECK_EQ(uring_init(&u, &c), 0);
    for (unsigned peer = 1; peer < NODES; peer++) {
        loopback_pair(fd[peer]);
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

/* ---- goodbyes -------------------------------------------------------------------------------- */

LINK_TEST(goodbye_goes_behind_everything_queued)
{
    struct end e[2];
    ends_open(e, (struct ends_how){.is_shm = is_shm});
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

/* After so many turns of both; `first` says it a turn earlier. */
static void check_goodbye(bool is_shm, int turns, int first)
{
    struct end e[2];
    ends_open(e, (struct ends_how){.is_shm = is_shm});
    for (int i = 0; i < turns; i++)
        for (int k = 0; k < 2; k++) end_turn(&e[k]);
    CHECK(ends_put(e[first].link, 0, 1));
    link_bye(e[first].link);
    end_turn(&e[first]);
    end_turn(&e[!first]);
    link_bye(e[!first].link);
    TURN_UNTIL(&e[0], &e[1],
               link_peer_is_gone(e[0].link) && link_peer_is_gone(e[1].link) &&
                   link_is_drained(e[0].link) && link_is_drained(e[1].link));
    CHECK_EQ(e[!first].entries, 1);
    uring_fini(e[0].uring);
    ends_turn_for(&e[1], NULL, 0.02);
    CHECK_EQ(e[0].failures + e[1].failures, 0);
    uring_fini(e[1].uring);
}

LINK_TEST(goodbye_at_any_moment_ends_it_without_a_failure)
{
    for (int turns = 0; turns < 6; turns++)
        for (int first = 0; first < 2; first++) check_goodbye(is_shm, turns, first);
}

/* Whoever says goodbye first: the end of the connection is no failure. */
TEST(link, end_after_either_goodbye_is_no_failure)
{
    for (int is_ours = 0; is_ours < 2; is_ours++) {
        struct facing f;
        facing_begin(&f);
        ends_say_entry(f.fd, 0, 0, 1);
        if (is_ours) {
            link_bye(f.end.link);
            TURN_UNTIL(&f.end, NULL, link_is_drained(f.end.link) && f.end.entries == 1);
        } else {
            ends_say_notice(f.fd, 1, WIRE_BYE, 0, "");
        }
        shutdown(f.fd, SHUT_WR);
        TURN_UNTIL(&f.end, NULL, f.end.link->phase != LINK_OPEN);
        CHECK(link_peer_is_gone(f.end.link) && link_is_drained(f.end.link));
        CHECK(!link_entry(f.end.link, 1));
        CHECK_EQ(f.end.entries, 1);
        CHECK_EQ(f.end.failures, 0);
        facing_end(&f);
    }
}

FACING_TEST(fails_at_a_frame_behind_the_goodbye)
{
    ends_say_notice(f->fd, 0, WIRE_BYE, 0, "");
    ends_say_entry(f->fd, 1, 0, 1);
    end_check_failed(&f->end, PEER, "sent a frame after its goodbye");
}

/* ---- notices of a loss ----------------------------------------------------------------------- */

TEST(link, names_the_node_that_was_lost_not_the_messenger)
{
    struct end e[2];
    ends_open(e, (struct ends_how){0});
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

/* The notice lies in our socket when sending fails. */
TEST(link, notice_is_read_before_a_send_fails_it)
{
    const struct linger at_once = {.l_onoff = 1};
    struct facing f;
    facing_open(&f, (struct ends_how){0});
    ends_say_notice(f.fd, 0, WIRE_LOST, 2, "was silent for 7 s");
    setsockopt(f.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(f.fd); /* a reset */
    f.fd = -1;
    CHECK(ends_put(f.end.link, 0, 100));
    link_flush(f.end.link);
    CHECK_EQ(uring_start(f.end.uring, now_ns()), 0); /* the send comes before the receive */
    end_check_failed(&f.end, 2, "was silent for 7 s");
    CHECK(f.end.link->send_error != 0);
    facing_end(&f);
}

FACING_TEST(notice_is_shown_as_a_line_of_text)
{
    char text[300];
    memset(text, 'x', sizeof text);
    memcpy(text, "evil \n\033[31m\xff", 12);
    text[sizeof text - 1] = '\0';
    ends_say_notice(f->fd, 0, WIRE_LOST, 2, text);
    end_check_failed(&f->end, 2, "evil ??[31m?xxx");
    CHECK(strlen(f->end.reason) < LINK_REASON_BYTES);
}

FACING_TEST(fails_at_a_notice_about_a_node_that_does_not_exist)
{
    ends_say_notice(f->fd, 0, WIRE_LOST, NODES, "is gone");
    end_check_failed(&f->end, PEER, "sent a notice of failure about node 4 of 4");
}

/* ---- a peer that agrees on memory ------------------------------------------------------------ */

/* Its peer has a lower rank if ours is 2, a higher one if it is 0. */
static void shm_begin(struct facing *f, unsigned rank)
{
    ends_need_memory();
    facing_open(f, (struct ends_how){.is_shm = true, .rank = rank});
    CHECK_EQ(uring_start(f->end.uring, now_ns()), 0);
}

/* The memory, once both have gone over to it; the next frame is the third. */
static struct shm *shm_memory(struct facing *f)
{
    char bytes[600];
    struct end *e = &f->end;
    shm_begin(f, 2);
    ends_say_notice(f->fd, 0, WIRE_SHM, 0, e->link->all->place);
    TURN_UNTIL(e, NULL, e->link->stats.messages_sent == 1);
    CHECK(recv(f->fd, bytes, sizeof bytes, 0) > (ssize_t)sizeof(struct wire_frame));
    struct shm *s = shm_attach(shm_ring_bytes(NODES), bytes + sizeof(struct wire_frame));
    CHECK(s);
    ends_say_notice(f->fd, 1, WIRE_THROUGH, 0, "");
    TURN_UNTIL(e, NULL, link_load(e->link).is_shm);
    return s;
}

TEST(link, garbage_in_the_memory_fails_it)
{
    struct facing f;
    char bytes[4096] = "GET / HTTP/1.1";
    struct shm *s = shm_memory(&f);
    CHECK_EQ(shm_write(s, &(struct iovec){bytes, 100}, 1), 100);
    end_check_failed(&f.end, PEER, "sent bytes that are no frame of locus");
    shm_free(s);
    facing_end(&f);

    s = shm_memory(&f);
    size_t n = ends_frame(bytes, 2, 0, 3, 2);
    CHECK_EQ(shm_write(s, &(struct iovec){bytes, n - 8}, 1), n - 8);
    ends_turn_for(&f.end, NULL, 0.01);
    CHECK_EQ(f.end.entries, 0);
    shm_free(s);
    close(f.fd); /* in the middle of a frame */
    f.fd = -1;
    end_check_failed(&f.end, PEER, "closed the connection");
    facing_end(&f);
}

TEST(link, peer_that_agrees_on_memory_out_of_turn_is_refused)
{
    static const struct {
        enum wire_kind first, second;
        const char *text, *reason;
    } cases[] = {
        {WIRE_HEARTBEAT, WIRE_THROUGH, "", "sent a change to memory that was not agreed"},
        {WIRE_SHM, WIRE_SHM, "anywhere", "sent an offer of memory out of turn"},
        {WIRE_SHM, WIRE_THROUGH, "", "sent a change to memory that was not agreed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct facing f;
        shm_begin(&f, 2);
        ends_say_notice(f.fd, 0, cases[i].first, 0, "");
        ends_say_notice(f.fd, 1, cases[i].second, 0, cases[i].text);
        end_check_failed(&f.end, PEER, cases[i].reason);
        facing_end(&f);
    }
}

TEST(link, name_of_memory_that_cannot_be_opened_leaves_it_as_it_was)
{
    struct facing f;
    shm_begin(&f, 0);
    ends_say_notice(f.fd, 0, WIRE_SHM, 0, "1 1 1");
    ends_say_entry(f.fd, 1, 0, 2);
    TURN_UNTIL(&f.end, NULL, f.end.entries == 1);
    CHECK(!link_load(f.end.link).is_shm);
    CHECK_EQ(f.end.failures, 0);
    facing_end(&f);
}

/* ---- a peer that is no member any more ------------------------------------------------------- */

/* In the middle of everything, both ways; the peer, which may only have been stopped, sees the end. */
LINK_TEST(dropped_one_is_heard_no_more_and_what_the_kernel_had_is_freed)
{
    struct end e[2];
    ends_open(e, (struct ends_how){.is_shm = is_shm});
    if (is_shm) TURN_UNTIL(&e[0], &e[1], ends_are_shm(e));
    for (uint64_t sent = 0; e[0].link->queued_bytes < LINK_CREDIT_BYTES; sent++) {
        for (int i = 0; i < 2; i++) CHECK(ends_put(e[i].link, sent, 1000));
        if (sent % 100 == 0) end_turn(&e[sent % 200 == 0]);
    }
    link_flush(e[1].link);
    end_turn(&e[1]);
    uint64_t entries = e[0].entries;
    uring_drop_link(e[0].uring, e[0].link);
    CHECK(!ends_put(e[0].link, 0, 1));
    CHECK_EQ(e[0].link->queued_bytes, 0);
    end_check_failed(&e[1], PEER, "");
    TURN_UNTIL(&e[0], NULL, !e[0].link->buffer && !e[0].link->under_way);
    end_wait(&e[0], now_ns() + SECOND / 1000);
    uring_tick(e[0].uring, now_ns() + 100 * SECOND);
    end_turn(&e[0]);
    CHECK_EQ(e[0].entries, entries);
    CHECK_EQ(e[0].failures, 0);
    CHECK(uring_is_shm(e[0].uring)); /* as far as there are others */
    CHECK(stats_of(&e[0]).bytes_sent > 0);
    link_load(e[0].link);
    ends_close(e);
}

/* Its failure may have been found before. */
FACING_TEST(dropped_one_that_has_failed_is_told_once)
{
    struct end *e = &f->end;
    close(f->fd);
    f->fd = -1;
    end_check_failed(e, PEER, "closed the connection");
    uring_drop_link(e->uring, e->link);
    end_turn(e);
    CHECK_EQ(e->failures, 1);
    CHECK(!e->link->buffer);
}

/* Its peer has come back, again and again, as another process: on a new connection, from its beginning,
 * and what was counted goes on. No descriptor stays behind. */
LINK_TEST(another_link_to_a_peer_takes_the_place_of_one_that_was_dropped)
{
    enum { TIMES = NODES + 2, ENTRIES = 300 };
    struct end e[2];
    struct ends_how how = {.is_shm = is_shm};
    uint64_t sent = 0;
    int first = -1;
    ends_open(e, how);
    for (unsigned i = 0; i < TIMES; i++) {
        if (is_shm) TURN_UNTIL(&e[0], &e[1], ends_are_shm(e));
        e[0].entries = 0;
        for (uint64_t tag = 0; tag < ENTRIES; tag++)
            for (int k = 0; k < 2; k++) CHECK(ends_put(e[k].link, tag, 10));
        for (int k = 0; k < 2; k++) link_flush(e[k].link);
        TURN_UNTIL(&e[0], &e[1], e[0].entries == ENTRIES && e[1].entries == ENTRIES);
        CHECK(stats_of(&e[0]).bytes_sent >= sent + ENTRIES * 40);
        sent = stats_of(&e[0]).bytes_sent;
        uring_drop_link(e[0].uring, e[0].link);
        CHECK(!link_load(e[0].link).is_shm);
        end_check_failed(&e[1], PEER, "");
        uring_fini(e[1].uring);
        TURN_UNTIL(&e[0], NULL, !e[0].link->buffer);
        int fd[2];
        loopback_pair(fd);
        if (i == 0) first = fd[0] + fd[1];
        CHECK_EQ(fd[0] + fd[1], first);
        how.rank = 2;
        end_create(&e[1], fd[1], how);
        end_start(&e[1]);
        CHECK_EQ(uring_add_link(e[0].uring, PEER, fd[0], &e[0].link), 0);
        CHECK_EQ(stats_of(&e[0]).bytes_sent, sent);
        CHECK_EQ(uring_bytes_sent(e[0].uring), sent);
    }
    CHECK_EQ(e[0].failures, 0);
    ends_close(e);
}
