/* A link through memory: it does what a link through TCP does, and ends as that does. */
#include "net/ends.h"
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void need_memory(void)
{
    char place[SHARED_TEXT_BYTES], name[SHARED_TEXT_BYTES];
    struct shared *s = shared_place(place) ? shared_create(SHARED_RING_MAX, name) : NULL;
    if (!s) SKIP("there is no room in /dev/shm here");
    shared_free(s);
}

static void start(struct end *e)
{
    CHECK_EQ(uring_start(e->uring, now_ns()), 0);
    uring_all_run(e->uring);
}

/* Ranks 0 and 2, each of which takes the other one for 1. A ring belongs to the thread that starts
 * it. */
static void open_ends(struct end e[2], size_t entry_bytes_max, double timeout_s)
{
    int fd[2];
    need_memory();
    ends_connect(fd);
    for (unsigned i = 0; i < 2; i++) {
        end_open_by(&e[i], fd[i], entry_bytes_max, timeout_s, 0);
        uring_share(e[i].uring, 2 * i);
    }
}

static void open_sharing(struct end e[2], size_t entry_bytes_max, double timeout_s)
{
    open_ends(e, entry_bytes_max, timeout_s);
    for (int i = 0; i < 2; i++) start(&e[i]);
}

static bool share(const struct end e[2])
{
    return link_load(e[0].link).is_shared && link_load(e[1].link).is_shared &&
           e[0].link->reads_shared && e[1].link->reads_shared;
}

static void check_exchange(uint32_t length_max, uint64_t entries)
{
    struct end e[2];
    unsigned seed = 4;
    uint64_t sent[2] = {0, 0}, until = now_ns() + 120 * SECOND;
    open_sharing(e, wire_entry_bytes(length_max), 10);
    while (e[0].entries < entries || e[1].entries < entries) {
        for (int i = 0; i < 2; i++) {
            for (int k = rand_r(&seed) % 50; k > 0 && sent[i] < entries; k--) {
                if (e[i].link->queued_bytes > LINK_CREDIT_BYTES) break;
                CHECK(ends_put(e[i].link, sent[i]++, (uint32_t)rand_r(&seed) % (length_max + 1)));
            }
            link_flush(e[i].link);
            end_turn(&e[i]);
        }
        CHECK(now_ns() < until);
    }
    CHECK(share(e));
    CHECK_EQ(e[0].failures + e[1].failures, 0);
    TURN_UNTIL(&e[0], &e[1], link_is_drained(e[0].link) && link_is_drained(e[1].link));
    ends_close(e);
}

TEST(link_shared, keeps_the_order_from_the_connection_to_the_memory)
{
    check_exchange(20, 60000);
}

TEST(link_shared, carries_entries_that_are_larger_than_the_ring)
{
    check_exchange(2 * SHARED_RING_MAX / sizeof(float), 100);
}

/* ---- sleep ---- */

enum { TRIPS = 3000, LONG = 20000, MANY = 400, LIMIT_S = 120 };

/* On a thread: until it has heard `until` entries; sleeps whenever there is nothing to do. */
struct listener {
    struct end *end;
    uint64_t until;
};

static void *listen_sleeping(void *listener)
{
    const struct listener *l = listener;
    struct end *e = l->end;
    uint64_t limit = now_ns() + LIMIT_S * SECOND;
    start(e);
    while ((e->entries < l->until || !link_is_drained(e->link)) && now_ns() < limit)
        if (end_turn(e) == 0) end_wait(e->uring, limit);
    uring_stop(e->uring);
    return NULL;
}

static void check_listener(struct end e[2], pthread_t thread, uint64_t heard)
{
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(e[1].entries, heard);
    CHECK(share(e));
    ends_close(e);
}

static void turn_or_sleep(struct end *e)
{
    if (end_turn(e) == 0) end_wait(e->uring, now_ns() + LIMIT_S / 2 * SECOND);
}

TEST(link_shared, both_may_sleep_between_any_two_messages)
{
    struct end e[2];
    struct listener l = {&e[1], TRIPS};
    pthread_t thread;
    open_ends(e, 0, LIMIT_S);
    e[1].echoes = true;
    uint64_t began_ns = now_ns();
    start(&e[0]);
    CHECK_EQ(pthread_create(&thread, NULL, listen_sleeping, &l), 0);
    for (uint64_t i = 0; i < TRIPS; i++) {
        CHECK(ends_put(e[0].link, i, 3));
        link_flush(e[0].link);
        while (e[0].entries <= i) {
            turn_or_sleep(&e[0]);
            CHECK(now_ns() - began_ns < LIMIT_S * SECOND);
        }
    }
    check_listener(e, thread, TRIPS);
}

TEST(link_shared, who_waits_for_room_is_woken)
{
    struct end e[2];
    struct listener l = {&e[1], MANY};
    pthread_t thread;
    open_ends(e, wire_entry_bytes(LONG), LIMIT_S);
    uint64_t began_ns = now_ns();
    start(&e[0]);
    CHECK_EQ(pthread_create(&thread, NULL, listen_sleeping, &l), 0);
    for (uint64_t i = 0; i < MANY || !link_is_drained(e[0].link);) {
        bool has_room = i < MANY && e[0].link->queued_bytes < LINK_CREDIT_BYTES;
        if (has_room) CHECK(ends_put(e[0].link, i++, LONG));
        link_flush(e[0].link);
        if (!has_room) turn_or_sleep(&e[0]);
        CHECK(now_ns() - began_ns < LIMIT_S * SECOND);
    }
    check_listener(e, thread, MANY);
}

/* ---- the end ---- */

TEST(link_shared, what_was_written_is_read_before_the_end_is_heard)
{
    struct end e[2];
    open_sharing(e, 0, 10);
    TURN_UNTIL(&e[0], &e[1], share(e));
    for (uint64_t i = 0; i < 100; i++) CHECK(ends_put(e[0].link, i, 5));
    link_flush(e[0].link);
    end_turn(&e[0]);
    uring_fini(e[0].uring);
    end_check_failed(&e[1], PEER, "closed the connection");
    CHECK_EQ(e[1].entries, 100);
    uring_fini(e[1].uring);
}

/* After so many turns of both; `first` says it a turn earlier. */
static void check_goodbye(int turns, int first)
{
    struct end e[2];
    open_sharing(e, 0, 10);
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

TEST(link_shared, a_goodbye_at_any_moment_ends_it_without_a_failure)
{
    for (int turns = 0; turns < 6; turns++)
        for (int first = 0; first < 2; first++) check_goodbye(turns, first);
}

TEST(link_shared, a_silent_peer_fails_and_is_told)
{
    struct end e[2];
    open_sharing(e, 0, 1);
    TURN_UNTIL(&e[0], &e[1], share(e));
    while (e[0].failures == 0) {
        uring_tick(e[0].uring, now_ns());
        end_turn(&e[0]);
    }
    end_check_failed(&e[0], PEER, "was silent for 1 s");
    TURN_UNTIL(&e[1], NULL, e[1].failures > 0);
    CHECK_STR(e[1].reason, "was silent for 1");
    ends_close(e);
}

/* ---- a peer that speaks as it likes ---- */

static struct shared *share_with_socket(struct end *e, int *fd, uint64_t *sequence)
{
    char bytes[600];
    int fds[2];
    need_memory();
    ends_connect(fds);
    end_open_by(e, fds[0], 0, 10, 0);
    uring_share(e->uring, 2);
    CHECK_EQ(uring_start(e->uring, now_ns()), 0);
    *fd = fds[1];
    ends_say(*fd, bytes, ends_notice(bytes, (*sequence)++, WIRE_SHARE, 0, e->link->all->place));
    TURN_UNTIL(e, NULL, e->link->stats.messages_sent == 1);
    CHECK(recv(*fd, bytes, sizeof bytes, 0) > (ssize_t)sizeof(struct wire_frame));
    struct shared *s = shared_open(shared_ring_bytes(NODES), bytes + sizeof(struct wire_frame));
    CHECK(s);
    ends_say(*fd, bytes, ends_notice(bytes, (*sequence)++, WIRE_THROUGH, 0, ""));
    TURN_UNTIL(e, NULL, link_load(e->link).is_shared);
    return s;
}

TEST(link_shared, garbage_in_the_memory_fails_the_link)
{
    struct end e;
    int fd;
    uint64_t sequence = 0;
    char bytes[4096] = "GET / HTTP/1.1";
    struct shared *s = share_with_socket(&e, &fd, &sequence);
    const struct iovec piece = {bytes, 100};
    CHECK_EQ(shared_write(s, &piece, 1), 100);
    end_check_failed(&e, PEER, "sent bytes that are no frame of locus");
    shared_free(s);
    end_close(&e, fd);

    sequence = 0;
    s = share_with_socket(&e, &fd, &sequence);
    size_t n = ends_frame(bytes, sequence, 0, 3, 2);
    CHECK_EQ(shared_write(s, &(struct iovec){bytes, n - 8}, 1), n - 8);
    ends_turn_for(&e, NULL, 0.01);
    CHECK_EQ(e.entries, 0);
    shared_free(s);
    close(fd); /* in the middle of a frame */
    end_check_failed(&e, PEER, "closed the connection");
    uring_fini(e.uring);
}

/* From a peer of lower rank, after `first`. */
static void check_out_of_turn(enum wire_kind first, enum wire_kind second, const char *reason)
{
    struct end e;
    int fds[2];
    char bytes[600];
    need_memory();
    ends_connect(fds);
    end_open_by(&e, fds[0], 0, 10, 0);
    uring_share(e.uring, 2);
    CHECK_EQ(uring_start(e.uring, now_ns()), 0);
    ends_say(fds[1], bytes, ends_notice(bytes, 0, first, 0, ""));
    ends_say(fds[1], bytes,
             ends_notice(bytes, 1, second, 0, second == WIRE_SHARE ? "anywhere" : ""));
    end_check_failed(&e, PEER, reason);
    end_close(&e, fds[1]);
}

TEST(link_shared, who_agrees_out_of_turn_is_refused)
{
    check_out_of_turn(WIRE_HEARTBEAT, WIRE_THROUGH, "sent a change to memory that was not agreed");
    check_out_of_turn(WIRE_SHARE, WIRE_SHARE, "sent an offer of memory out of turn");
    check_out_of_turn(WIRE_SHARE, WIRE_THROUGH, "sent a change to memory that was not agreed");
}

TEST(link_shared, a_name_that_cannot_be_opened_leaves_the_link_as_it_was)
{
    struct end e;
    int fds[2];
    char bytes[600];
    need_memory();
    ends_connect(fds);
    end_open_by(&e, fds[0], 0, 10, 0);
    uring_share(e.uring, 0);
    CHECK_EQ(uring_start(e.uring, now_ns()), 0);
    ends_say(fds[1], bytes, ends_notice(bytes, 0, WIRE_SHARE, 0, "locus-1-nowhere"));
    ends_say(fds[1], bytes, ends_frame(bytes, 1, 0, 5, 2));
    TURN_UNTIL(&e, NULL, e.entries == 5);
    CHECK(!link_load(e.link).is_shared);
    CHECK_EQ(e.failures, 0);
    end_close(&e, fds[1]);
}
