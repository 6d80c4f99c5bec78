/* What a link carries, through TCP and through memory: order, sizes, pieces, and what waits. */
#include "net/ends.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- order and sizes ------------------------------------------------------------------------- */

/* Until each has so many, counted from the beginning. */
static void exchange(struct end e[2], uint64_t entries, uint32_t length_max)
{
    unsigned seed = 5;
    uint64_t sent[2] = {e[1].entries, e[0].entries};
    uint64_t limit = now_ns() + 120 * SECOND;
    while (e[0].entries < entries || e[1].entries < entries) {
        for (int i = 0; i < 2; i++) {
            for (int k = rand_r(&seed) % 50; k > 0 && sent[i] < entries; k--) {
                if (e[i].link->queued_bytes > LINK_CREDIT_BYTES) break;
                CHECK(ends_put(e[i].link, sent[i]++, (uint32_t)rand_r(&seed) % (length_max + 1)));
            }
            link_flush(e[i].link);
            end_turn(&e[i]);
        }
        CHECK(now_ns() < limit);
    }
    CHECK_EQ(e[0].entries, entries);
    CHECK_EQ(e[1].entries, entries);
    CHECK_EQ(e[0].failures + e[1].failures, 0);
}

/* Everything said and heard is counted, in bytes and frames. */
static void check_exchange(bool is_shm, uint64_t entries, uint32_t length_max)
{
    struct end e[2];
    ends_open(e,
              (struct ends_how){.is_shm = is_shm, .entry_bytes_max = wire_entry_bytes(length_max)});
    exchange(e, entries, length_max);
    TURN_UNTIL(&e[0], &e[1], link_is_drained(e[0].link) && link_is_drained(e[1].link));
    for (int i = 0; i < 2; i++) {
        struct link_stats a = stats_of(&e[i]), b = stats_of(&e[!i]);
        CHECK_EQ(a.messages_sent, b.messages_received);
        CHECK_EQ(a.bytes_sent, b.bytes_received);
        CHECK(a.messages_sent > 0);
    }
    CHECK_EQ(ends_are_shm(e), is_shm);
    ends_close(e);
}

LINK_TEST(many_small_entries_keep_their_order)
{
    check_exchange(is_shm, 100000, 20);
}

/* Also larger than the memory. */
LINK_TEST(large_entries_come_among_small_ones)
{
    check_exchange(is_shm, 200, 2 * SHM_RING_MAX / sizeof(float));
}

LINK_TEST(owner_may_submit_while_it_handles_a_frame)
{
    struct end e[2];
    ends_open(e, (struct ends_how){.is_shm = is_shm});
    e[1].echoes = e[1].submits = true;
    unsigned seed = 8;
    uint64_t put = 0;
    while (e[0].entries < 50000) {
        while (put < 50000 && put < e[0].entries + 3000)
            CHECK(ends_put(e[0].link, put++, (uint32_t)rand_r(&seed) % 200));
        link_flush(e[0].link);
        end_turn(&e[0]);
        end_turn(&e[1]);
        CHECK_EQ(e[0].failures + e[1].failures, 0);
    }
    ends_close(e);
}

/* A ring that leaves out what newer kernels can do does the same. */
TEST(link, works_as_on_linux_6_0_and_5_19_and_5_7)
{
    for (unsigned lacks = 1; lacks <= 3; lacks++) {
        struct end e[2];
        ends_open(e, (struct ends_how){.setup = lacks});
        exchange(e, 20000, 300);
        uint64_t start = now_ns();
        for (int i = 0; i < 20; i++) {
            end_wait(&e[0], now_ns() + SECOND / 1000);
            end_turn(&e[0]);
            uring_wake(e[0].uring);
            end_wait(&e[0], start + 60 * SECOND);
            end_turn(&e[0]);
        }
        CHECK(now_ns() < start + 30 * SECOND);
        exchange(e, 30000, 300);
        ends_close(e);
    }
}

TEST(link, fills_one_frame_while_another_is_under_way)
{
    struct end e[2];
    ends_open(e, (struct ends_how){0});
    for (uint64_t tag = 0; tag < 50; tag++) {
        ends_put(e[0].link, tag, 10);
        link_flush(e[0].link);
        uring_submit(e[0].uring);
    }
    TURN_UNTIL(&e[0], &e[1], e[1].entries == 50);
    CHECK_EQ(stats_of(&e[1]).messages_received, 2);
    ends_close(e);
}

TEST(link, sends_nothing_that_was_not_flushed)
{
    struct end e[2];
    ends_open(e, (struct ends_how){0});
    link_flush(e[0].link); /* nothing: no frame */
    ends_put(e[0].link, 0, 10);
    ends_turn_for(&e[0], &e[1], 0.05);
    CHECK_EQ(stats_of(&e[1]).messages_received, 0);
    CHECK(!link_is_drained(e[0].link));
    CHECK_EQ(e[0].link->queued_bytes, 40 + wire_entry_bytes(10));
    link_flush(e[0].link);
    TURN_UNTIL(&e[0], &e[1], e[1].entries == 1 && link_is_drained(e[0].link));
    CHECK_EQ(e[0].link->queued_bytes, 0);
    ends_close(e);
}

/* ---- the test is the kernel ------------------------------------------------------------------ */

/* A link without a ring. */
struct lone {
    int peer;
    struct end end;
    struct links all;
    struct link *link;
};

static void lone_begin(struct lone *l)
{
    int fd[2];
    *l = (struct lone){0};
    const struct link_events events = {&l->end, end_on_frame, end_on_failed, NULL};
    loopback_pair(fd);
    l->peer = fd[1];
    links_init(&l->all, &events, NODES, 0, 10);
    l->link = link_new(&l->all, PEER, fd[0]);
}

static void lone_end(struct lone *l)
{
    link_free(l->link);
    links_fini(&l->all);
    close(l->peer);
}

TEST_WITH(link, keeps_what_the_kernel_has_until_it_gives_it_back, lone, lone)
{
    struct link *l = lone->link;
    for (uint64_t put = 0; put < 40; put++) CHECK(ends_put(l, put, 1000));
    CHECK_EQ(link_gather(l), 1); /* a full one; the next one has not been flushed */
    link_fail(l, PEER, "is of no use");
    CHECK_EQ(lone->all.spares, 1);
    CHECK(link_is_drained(l));
    link_sent(l, -EPIPE);
    CHECK_EQ(lone->all.spares, 2);
}

TEST_WITH(link, failed_send_is_the_reason_once_all_that_came_is_read, lone, lone)
{
    struct link *l = lone->link;
    CHECK(ends_put(l, 0, 10));
    link_flush(l);
    CHECK_EQ(link_gather(l), 1);
    link_sent(l, -ETIMEDOUT);
    CHECK_EQ(link_gather(l), 0);
    CHECK(!link_peer_is_gone(l));
    link_received(l, -ECONNRESET, false);
    CHECK(lone->all.fallen == l);
    CHECK(strcmp(l->reason, "cannot be reached any more: Connection timed out") == 0);
}

/* ---- a bare socket as the peer --------------------------------------------------------------- */

/* Cut in two at every place; each frame is handed up as soon as it is whole, the one behind it
 * waits. */
FACING_TEST(frames_may_be_cut_anywhere)
{
    struct end *e = &f->end;
    uint64_t bytes[512], sequence = 0, total = 0;
    for (size_t cut = 1;; cut++) {
        uint64_t tag = e->entries;
        size_t first = ends_frame(bytes, sequence, tag, 1, 3);
        size_t n = first + ends_frame(bytes + first / 8, sequence + 1, tag + 1, 2, 2);
        if (cut == n) break;
        ends_say(f->fd, bytes, cut);
        TURN_UNTIL(e, NULL, end_has_heard(e, total + cut));
        CHECK_EQ(e->entries - tag, cut >= first);
        ends_say(f->fd, (char *)bytes + cut, n - cut);
        TURN_UNTIL(e, NULL, end_has_heard(e, total + n));
        CHECK_EQ(e->entries - tag, 3);
        sequence += 2;
        total += n;
    }
}

/* ---- back-pressure --------------------------------------------------------------------------- */

LINK_TEST(what_a_peer_does_not_read_waits_for_it)
{
    struct end e[2];
    uint64_t sent = 0;
    ends_open(e, (struct ends_how){.is_shm = is_shm});
    if (is_shm) TURN_UNTIL(&e[0], &e[1], ends_are_shm(e));
    while (e[0].link->queued_bytes < 2 * LINK_CREDIT_BYTES) {
        CHECK(ends_put(e[0].link, sent++, 100));
        link_flush(e[0].link);
        end_turn(&e[0]);
    }
    ends_turn_for(&e[0], NULL, 0.1);
    CHECK(!link_is_drained(e[0].link));
    CHECK_EQ(e[0].failures, 0);
    TURN_UNTIL(&e[0], &e[1], e[1].entries == sent);
    CHECK_EQ(e[0].link->queued_bytes, 0);
    ends_close(e);
}

/* As mesh_connect leaves its sockets. */
TEST(link, sits_still_while_a_peer_does_not_read_whatever_the_socket_was)
{
    int fd[2];
    struct end e;
    loopback_pair(fd);
    fcntl(fd[0], F_SETFL, O_NONBLOCK);
    end_create(&e, fd[0], (struct ends_how){0});
    end_start(&e);
    for (uint64_t sent = 0; e.link->queued_bytes < 2 * LINK_CREDIT_BYTES; sent++) {
        CHECK(ends_put(e.link, sent, 1000));
        link_flush(e.link);
        end_turn(&e);
    }
    unsigned still = 0; /* turns without one, once the kernel has taken what it can */
    for (uint64_t limit = now_ns() + 60 * SECOND; still < 1000; CHECK(now_ns() < limit))
        still = end_turn(&e) ? 0 : still + 1;
    close(fd[1]);
    uring_fini(e.uring);
}

FACING_TEST(fails_when_more_waits_than_agreed)
{
    struct end *e = &f->end;
    size_t highest = 0;
    for (uint64_t sent = 0; ends_put(e->link, sent, 100); sent++) {
        link_flush(e->link);
        if (e->link->queued_bytes > highest) highest = e->link->queued_bytes;
        if (sent % 64 == 0) end_turn(e);
    }
    CHECK(highest <= link_queued_max(e->link) + 40);
    CHECK(highest >= 2 * LINK_CREDIT_BYTES);
    CHECK_EQ(e->failures, 0); /* told in a poll, not from within link_entry */
    end_turn(e);
    CHECK_EQ(e->failures, 1);
    CHECK_EQ(e->culprit, PEER);
    CHECK_STR(e->reason, "takes nothing");
    CHECK(link_is_drained(e->link) && link_peer_is_gone(e->link));
}

/* Where nodes survive the loss of another, a repair may say all rows at once: as much as there is
 * memory for. */
FACING_TEST(takes_all_that_a_repair_says)
{
    struct end *e = &f->end;
    const size_t by_credit = link_queued_max(e->link);
    e->link->all->queued_max = 3 * by_credit * e->link->all->nodes;
    e->link->all->has_repairs = true;
    for (uint64_t sent = 0; e->link->queued_bytes < 2 * by_credit; sent++)
        CHECK(ends_put(e->link, sent, 100));
    while (ends_put(e->link, 0, 100)) continue;
    end_turn(e);
    CHECK_STR(e->reason, "takes nothing");
}

/* All links of the ring together, which is less than one may have by its peers' credit. */
FACING_TEST(fails_when_more_waits_than_there_is_memory_for)
{
    enum { MEMORY = 1 << 20 };
    struct end *e = &f->end;
    size_t highest = 0;
    e->link->all->queued_max = MEMORY;
    for (uint64_t sent = 0; ends_put(e->link, sent, 100); sent++) {
        link_flush(e->link);
        if (e->link->queued_bytes > highest) highest = e->link->queued_bytes;
    }
    CHECK(highest <= MEMORY + 40 && highest > MEMORY / 2);
    end_turn(e);
    CHECK_EQ(e->failures, 1);
    CHECK_STR(e->reason, "takes nothing");
}
