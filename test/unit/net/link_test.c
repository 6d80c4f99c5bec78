/*
 * Links over TCP on loopback. Most tests drive both ends from one thread, turn by turn; where one end is a bare socket
 * it says what no link would. Where time matters it is the test's own: a ring goes by the time that it is told.
 */
#include "test.h"

#include "locus.h"
#include "net/link_private.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { NODES = 4, PEER = 1 };
#define SECOND UINT64_C(1000000000)

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* ---- two ends ---------------------------------------------------------------------------------------------------- */

static void connect_pair(int fd[2])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(!bind(listener, (struct sockaddr *)&at, sizeof at) && !listen(listener, 1));
    CHECK(!getsockname(listener, (struct sockaddr *)&at, &bytes));
    fd[0] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(!connect(fd[0], (struct sockaddr *)&at, sizeof at));
    fd[1] = accept(listener, NULL, NULL);
    CHECK(fd[1] >= 0);
    close(listener);
}

struct end {
    struct uring *uring;
    struct link *link;
    uint64_t entries, floats; /* received so far */
    uint64_t now;             /* the ring's time, when it is not the clock's */
    const char *veto;         /* what to answer to frames */
    bool echoes;              /* answers each entry with one of as many floats */
    bool submits;             /* while it handles a frame */
    int failures;
    unsigned culprit;
    char reason[256];
};

/* Entries are numbered, and so are their floats. */
static float value_of(uint64_t tag, uint32_t i)
{
    return (float)((tag * 31 + i) % 65536);
}

static void check_entry(struct end *e, const struct wire_entry *x)
{
    CHECK_EQ(x->tag, (uint32_t)e->entries);
    CHECK_EQ(x->key, e->entries);
    CHECK_EQ((uintptr_t)x % 8, 0);
    for (uint32_t i = 0; i < x->length; i++)
        if (wire_values_const(x)[i] != value_of(e->entries, i))
            CHECK_EQ(wire_values_const(x)[i], value_of(e->entries, i));
    e->entries++;
    e->floats += x->length;
}

static bool put_entry(struct link *l, uint64_t tag, uint32_t length)
{
    struct wire_entry *x = link_entry(l, length);
    if (!x) return false;
    CHECK_EQ(x->length, length);
    CHECK_EQ(x->operation + x->encoding + x->owner + x->origin + x->hops + x->epoch + x->version, 0);
    x->operation = WIRE_PUSH;
    x->tag = (uint32_t)tag;
    x->key = tag;
    for (uint32_t i = 0; i < length; i++) wire_values(x)[i] = value_of(tag, i);
    return true;
}

static const char *on_frame(void *context, unsigned peer, const struct wire_frame *f, const void *body)
{
    struct end *e = context;
    const char *why;
    const struct wire_entry *x;
    struct wire_cursor c = wire_cursor(f, body);
    CHECK_EQ(peer, PEER);
    CHECK_EQ(e->failures, 0);
    if (e->veto) return e->veto;
    while ((x = wire_next(&c, &why))) {
        check_entry(e, x);
        if (e->echoes) CHECK(put_entry(e->link, x->tag, x->length));
        if (e->submits && e->entries % 16 == 0) {
            link_flush(e->link);
            uring_submit(e->uring);
        }
    }
    if (e->echoes) link_flush(e->link);
    return why;
}

static void on_failed(void *context, unsigned peer, unsigned culprit, const char *reason)
{
    struct end *e = context;
    CHECK_EQ(peer, PEER);
    e->failures++;
    e->culprit = culprit;
    snprintf(e->reason, sizeof e->reason, "%s", reason);
}

static void open_end_by(struct end *e, int fd, size_t entry_bytes_max, double timeout_s, unsigned setup)
{
    *e = (struct end){0};
    const struct uring_events events = {e, on_frame, on_failed};
    if (uring_open(&e->uring, &events, NODES, entry_bytes_max, timeout_s, setup)) SKIP(locus_error());
    CHECK_EQ(uring_add_link(e->uring, PEER, fd, &e->link), 0);
}

static void open_end(struct end *e, int fd, double timeout_s)
{
    open_end_by(e, fd, 0, timeout_s, 0);
    CHECK_EQ(uring_start(e->uring, now_ns()), 0);
}

static void open_ends(struct end e[2])
{
    int fd[2];
    connect_pair(fd);
    open_end(&e[0], fd[0], 10);
    open_end(&e[1], fd[1], 10);
}

/* With a bare socket as the peer. */
static int open_end_and_socket(struct end *e)
{
    int fd[2];
    connect_pair(fd);
    open_end(e, fd[0], 10);
    return fd[1];
}

static void close_ends(struct end e[2])
{
    uring_fini(e[0].uring);
    uring_fini(e[1].uring);
}

static unsigned turn(struct end *e)
{
    uring_submit(e->uring);
    unsigned n = uring_poll(e->uring, e->now ? e->now : now_ns());
    uring_submit(e->uring);
    return n;
}

/* Turns of one or both ends until the condition holds; a test that hangs says where. */
#define TURN_UNTIL(a, b, condition) \
    do { \
        uint64_t end_ns = now_ns() + 20 * SECOND; \
        struct end *ends[2] = {(a), (b)}; \
        while (!(condition)) { \
            for (int i_ = 0; i_ < 2; i_++) \
                if (ends[i_]) turn(ends[i_]); \
            if (now_ns() >= end_ns) CHECK(!"in time: " #condition); \
        } \
    } while (0)

static void turn_for(struct end *a, struct end *b, double seconds)
{
    for (uint64_t end = now_ns() + (uint64_t)(seconds * 1e9); now_ns() < end;) {
        turn(a);
        if (b) turn(b);
    }
}

/* ---- order and sizes --------------------------------------------------------------------------------------------- */

/* Until each has so many, counted from the beginning. */
static void exchange(struct end e[2], uint64_t entries, uint32_t length_max)
{
    unsigned seed = 5;
    uint64_t sent[2] = {e[1].entries, e[0].entries};
    uint64_t limit = now_ns() + 40 * SECOND;
    while (e[0].entries < entries || e[1].entries < entries) {
        for (int i = 0; i < 2; i++) {
            for (int k = rand_r(&seed) % 50; k > 0 && sent[i] < entries; k--) {
                if (link_queued_bytes(e[i].link) > LINK_WINDOW_BYTES) break;
                CHECK(put_entry(e[i].link, sent[i]++, (uint32_t)rand_r(&seed) % (length_max + 1)));
            }
            link_flush(e[i].link);
            turn(&e[i]);
        }
        CHECK(now_ns() < limit);
    }
    CHECK_EQ(e[0].entries, entries);
    CHECK_EQ(e[1].entries, entries);
    CHECK_EQ(e[0].failures + e[1].failures, 0);
}

/* Everything said and heard, in bytes and frames. */
static void check_stats(struct end e[2])
{
    TURN_UNTIL(&e[0], &e[1], link_is_drained(e[0].link) && link_is_drained(e[1].link));
    struct link_stats a = link_stats(e[0].link), b = link_stats(e[1].link);
    CHECK_EQ(a.bytes_sent, b.bytes_received);
    CHECK_EQ(b.bytes_sent, a.bytes_received);
    CHECK_EQ(a.frames_sent, b.frames_received);
    CHECK_EQ(b.frames_sent, a.frames_received);
    CHECK(a.frames_sent > 0);
}

TEST(link, keeps_the_order_of_many_small_entries)
{
    struct end e[2];
    open_ends(e);
    exchange(e, 100000, 20);
    check_stats(e);
    close_ends(e);
}

TEST(link, carries_rows_of_100000_floats_among_small_ones)
{
    int fd[2];
    struct end e[2];
    connect_pair(fd);
    for (int i = 0; i < 2; i++) {
        open_end_by(&e[i], fd[i], wire_entry_bytes(100000), 10, 0);
        CHECK_EQ(uring_start(e[i].uring, now_ns()), 0);
    }
    exchange(e, 300, 100000);
    check_stats(e);
    close_ends(e);
}

TEST(link, lets_its_owner_submit_while_it_handles_a_frame)
{
    struct end e[2];
    open_ends(e);
    e[1].echoes = e[1].submits = true;
    unsigned seed = 8;
    uint64_t put = 0;
    while (e[0].entries < 50000) {
        while (put < 50000 && put < e[0].entries + 3000)
            CHECK(put_entry(e[0].link, put++, (uint32_t)rand_r(&seed) % 200));
        link_flush(e[0].link);
        turn(&e[0]);
        turn(&e[1]);
        CHECK_EQ(e[0].failures + e[1].failures, 0);
    }
    close_ends(e);
}

/* A ring that leaves out what newer kernels can do does the same. */
static void exchange_by(unsigned setup)
{
    int fd[2];
    struct end e[2];
    connect_pair(fd);
    for (int i = 0; i < 2; i++) {
        open_end_by(&e[i], fd[i], 0, 10, setup);
        CHECK_EQ(uring_start(e[i].uring, now_ns()), 0);
    }
    exchange(e, 20000, 300);
    uint64_t start = now_ns();
    for (int i = 0; i < 20; i++) {
        uring_wait(e[0].uring, now_ns() + SECOND / 1000);
        turn(&e[0]);
        uring_wake(e[0].uring);
        uring_wait(e[0].uring, start + 60 * SECOND);
        turn(&e[0]);
    }
    CHECK(now_ns() < start + 30 * SECOND);
    exchange(e, 30000, 300);
    close_ends(e);
}

TEST(link, works_as_on_linux_6_0)
{
    exchange_by(1);
}

TEST(link, works_as_on_linux_5_19)
{
    exchange_by(2);
}

TEST(link, works_as_on_linux_5_7)
{
    exchange_by(3);
}

TEST(link, fills_one_frame_while_another_is_under_way)
{
    struct end e[2];
    open_ends(e);
    put_entry(e[0].link, 0, 10);
    link_flush(e[0].link);
    uring_submit(e[0].uring);
    for (uint64_t tag = 1; tag < 50; tag++) {
        put_entry(e[0].link, tag, 10);
        link_flush(e[0].link);
        uring_submit(e[0].uring);
    }
    TURN_UNTIL(&e[0], &e[1], e[1].entries == 50);
    CHECK_EQ(link_stats(e[1].link).frames_received, 2);
    close_ends(e);
}

TEST(link, sends_nothing_that_was_not_flushed)
{
    struct end e[2];
    open_ends(e);
    link_flush(e[0].link); /* nothing: no frame */
    put_entry(e[0].link, 0, 10);
    turn_for(&e[0], &e[1], 0.05);
    CHECK_EQ(link_stats(e[1].link).frames_received, 0);
    CHECK(!link_is_drained(e[0].link));
    CHECK_EQ(link_queued_bytes(e[0].link), 40 + wire_entry_bytes(10));
    link_flush(e[0].link);
    TURN_UNTIL(&e[0], &e[1], e[1].entries == 1 && link_is_drained(e[0].link));
    CHECK_EQ(link_queued_bytes(e[0].link), 0);
    close_ends(e);
}

/* Appends the first `bytes` of what is to be sent, or all. Returns how many those are. */
static size_t take_pieces(const struct link *l, unsigned pieces, size_t bytes, char *out)
{
    size_t taken = 0;
    for (unsigned i = 0; i < pieces; i++) {
        size_t rest = bytes - taken, n = l->piece[i].iov_len < rest ? l->piece[i].iov_len : rest;
        memcpy(out + taken, l->piece[i].iov_base, n);
        taken += n;
    }
    return taken;
}

static void check_stream(struct end *e, const char *at, const char *end)
{
    for (uint64_t sequence = 0; at < end; sequence++) {
        const struct wire_frame *f = (const void *)at;
        CHECK(!wire_check_frame(f, LINK_FRAME_BYTES, sequence));
        CHECK(!on_frame(e, PEER, f, f + 1));
        at += sizeof *f + f->body_bytes;
    }
    CHECK(at == end);
}

/* The kernel may take less than it was given, at any place. There is no ring here: the test is the kernel. */
TEST(link, goes_on_where_a_short_send_ended)
{
    int fd[2];
    struct end e = {0};
    struct links all;
    const struct uring_events events = {&e, on_frame, on_failed};
    unsigned seed = 4, pieces;
    uint64_t put = 0;
    size_t sent = 0;
    char *stream = malloc(LINK_WINDOW_BYTES);
    connect_pair(fd);
    links_init(&all, &events, NODES, 0, 10);
    struct link *l = link_new(&all, PEER, fd[0]);
    while (link_queued_bytes(l) < LINK_WINDOW_BYTES - 10000) CHECK(put_entry(l, put++, (uint32_t)rand_r(&seed) % 2000));
    link_flush(l);
    while ((pieces = link_gather(l)) > 0) {
        CHECK_EQ(link_gather(l), 0); /* one at a time */
        size_t taken = take_pieces(l, pieces, (size_t)rand_r(&seed) % 400000, stream + sent);
        link_sent(l, (int)taken);
        sent += taken;
    }
    CHECK(link_is_drained(l));
    check_stream(&e, stream, stream + sent);
    CHECK_EQ(e.entries, put);
    link_free(l);
    links_fini(&all);
    close(fd[1]);
    free(stream);
}

TEST(link, keeps_what_the_kernel_has_until_it_gives_it_back)
{
    int fd[2];
    struct end e = {0};
    struct links all;
    const struct uring_events events = {&e, on_frame, on_failed};
    connect_pair(fd);
    links_init(&all, &events, NODES, 0, 10);
    struct link *l = link_new(&all, PEER, fd[0]);
    for (uint64_t put = 0; put < 40; put++) CHECK(put_entry(l, put, 1000));
    CHECK_EQ(link_gather(l), 1); /* a full one; the next one has not been flushed */
    link_fail(l, PEER, "is of no use");
    CHECK_EQ(all.spares, 1);
    CHECK(link_is_drained(l));
    link_sent(l, -EPIPE);
    CHECK_EQ(all.spares, 2);
    link_free(l);
    links_fini(&all);
    close(fd[1]);
}

TEST(link, says_why_sending_failed)
{
    int fd[2];
    struct end e = {0};
    struct links all;
    const struct uring_events events = {&e, on_frame, on_failed};
    connect_pair(fd);
    links_init(&all, &events, NODES, 0, 10);
    struct link *l = link_new(&all, PEER, fd[0]);
    CHECK(put_entry(l, 0, 10));
    link_flush(l);
    CHECK_EQ(link_gather(l), 1);
    link_sent(l, -ETIMEDOUT);
    CHECK_EQ(link_gather(l), 0);
    CHECK(!link_peer_is_gone(l)); /* not before all that came is read */
    link_received(l, -ECONNRESET, false);
    CHECK(all.fallen == l);
    CHECK(strcmp(l->reason, "cannot be reached any more: Connection timed out") == 0);
    link_free(l);
    links_fini(&all);
    close(fd[1]);
}

/* ---- a bare socket as the peer ----------------------------------------------------------------------------------- */

/* A frame of `count` entries, numbered from `tag`, of `length` floats. Returns its bytes. */
static size_t make_frame(void *out, uint64_t sequence, uint64_t tag, uint32_t count, uint32_t length)
{
    struct wire_frame *f = out;
    *f = (struct wire_frame){.magic = WIRE_MAGIC,
                             .version = WIRE_VERSION,
                             .kind = WIRE_ENTRIES,
                             .body_bytes = (uint32_t)(count * wire_entry_bytes(length)),
                             .count = count,
                             .sequence = sequence};
    memset(f + 1, 0, f->body_bytes);
    for (uint32_t k = 0; k < count; k++) {
        struct wire_entry *x = (void *)((char *)(f + 1) + k * wire_entry_bytes(length));
        *x = (struct wire_entry){.operation = WIRE_PUSH, .length = length, .tag = (uint32_t)(tag + k), .key = tag + k};
        for (uint32_t i = 0; i < length; i++) wire_values(x)[i] = value_of(tag + k, i);
    }
    return sizeof *f + f->body_bytes;
}

static size_t make_notice(void *out, uint64_t sequence, enum wire_kind kind, unsigned lost, const char *text)
{
    struct wire_frame *f = out;
    size_t bytes = (strlen(text) + 7) & ~(size_t)7;
    *f = (struct wire_frame){.magic = WIRE_MAGIC,
                             .version = WIRE_VERSION,
                             .kind = (uint16_t)kind,
                             .body_bytes = (uint32_t)bytes,
                             .lost = lost,
                             .sequence = sequence};
    memset(f + 1, 0, bytes);
    memcpy(f + 1, text, strlen(text));
    return sizeof *f + bytes;
}

static void say(int fd, const void *bytes, size_t n)
{
    CHECK_EQ(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

static bool has_come(const struct end *e, uint64_t bytes)
{
    return link_stats(e->link).bytes_received == bytes;
}

TEST(link, takes_frames_that_come_byte_by_byte)
{
    struct end e;
    uint64_t bytes[512];
    int fd = open_end_and_socket(&e);
    size_t n = make_frame(bytes, 0, 0, 2, 5);
    n += make_frame(bytes + n / 8, 1, 2, 1, 0);
    n += make_frame(bytes + n / 8, 2, 3, 3, 1);
    for (size_t i = 0; i < n; i++) {
        say(fd, (char *)bytes + i, 1);
        TURN_UNTIL(&e, NULL, has_come(&e, i + 1));
    }
    CHECK_EQ(e.entries, 6);
    CHECK_EQ(e.failures, 0);
    close(fd);
    uring_fini(e.uring);
}

/* Cut in two at every place; each frame is handed up as soon as it is whole, the one behind it waits. */
TEST(link, takes_frames_that_are_cut_anywhere)
{
    struct end e;
    uint64_t bytes[512], sequence = 0, total = 0;
    int fd = open_end_and_socket(&e);
    for (size_t cut = 1;; cut++) {
        uint64_t tag = e.entries;
        size_t first = make_frame(bytes, sequence, tag, 1, 3);
        size_t n = first + make_frame(bytes + first / 8, sequence + 1, tag + 1, 2, 2);
        if (cut == n) break;
        say(fd, bytes, cut);
        TURN_UNTIL(&e, NULL, has_come(&e, total + cut));
        CHECK_EQ(e.entries - tag, cut >= first);
        say(fd, (char *)bytes + cut, n - cut);
        TURN_UNTIL(&e, NULL, has_come(&e, total + n));
        CHECK_EQ(e.entries - tag, 3);
        sequence += 2;
        total += n;
    }
    close(fd);
    uring_fini(e.uring);
}

/* Frames of all sizes up to the largest, in pieces of all sizes: the buffer's end falls everywhere. */
TEST(link, takes_large_frames_in_odd_pieces)
{
    struct end e;
    unsigned seed = 3;
    char *bytes = malloc(40 + LINK_FRAME_BYTES);
    int fd = open_end_and_socket(&e);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    uint64_t tag = 0;
    for (uint64_t sequence = 0; sequence < 300; sequence++) {
        uint32_t length = (uint32_t)rand_r(&seed) % 200;
        uint32_t count = 1 + (uint32_t)rand_r(&seed) % (uint32_t)(LINK_FRAME_BYTES / wire_entry_bytes(length));
        size_t n = make_frame(bytes, sequence, tag, count, length), sent = 0;
        tag += count;
        while (sent < n) {
            size_t piece = 1 + (size_t)rand_r(&seed) % 50000;
            ssize_t went = send(fd, bytes + sent, piece < n - sent ? piece : n - sent, MSG_NOSIGNAL);
            if (went > 0) sent += (size_t)went;
            turn(&e);
        }
    }
    TURN_UNTIL(&e, NULL, e.entries == tag);
    CHECK_EQ(e.failures, 0);
    free(bytes);
    close(fd);
    uring_fini(e.uring);
}

/* ---- back-pressure ----------------------------------------------------------------------------------------------- */

TEST(link, keeps_what_a_peer_does_not_read_and_delivers_it_when_it_does)
{
    struct end e[2];
    uint64_t sent = 0;
    open_ends(e);
    while (link_queued_bytes(e[0].link) < 2 * LINK_WINDOW_BYTES) {
        CHECK(put_entry(e[0].link, sent++, 100));
        link_flush(e[0].link);
        turn(&e[0]);
    }
    turn_for(&e[0], NULL, 0.1);
    CHECK(!link_is_drained(e[0].link));
    CHECK_EQ(e[0].failures, 0);
    TURN_UNTIL(&e[0], &e[1], e[1].entries == sent);
    CHECK_EQ(link_queued_bytes(e[0].link), 0);
    close_ends(e);
}

/* As mesh_connect leaves its sockets. */
TEST(link, sits_still_while_a_peer_does_not_read_whatever_the_socket_was)
{
    int fd[2];
    struct end e;
    connect_pair(fd);
    fcntl(fd[0], F_SETFL, O_NONBLOCK);
    open_end(&e, fd[0], 10);
    for (uint64_t sent = 0; link_queued_bytes(e.link) < 2 * LINK_WINDOW_BYTES; sent++) {
        CHECK(put_entry(e.link, sent, 1000));
        link_flush(e.link);
        turn(&e);
    }
    turn_for(&e, NULL, 0.05);
    unsigned completions = 0;
    for (int i = 0; i < 100; i++) completions += turn(&e);
    CHECK_EQ(completions, 0);
    close(fd[1]);
    uring_fini(e.uring);
}

TEST(link, fails_when_more_waits_than_agreed)
{
    struct end e;
    uint64_t sent = 0;
    int fd = open_end_and_socket(&e);
    size_t highest = 0;
    while (put_entry(e.link, sent, 100)) {
        sent++;
        link_flush(e.link);
        if (link_queued_bytes(e.link) > highest) highest = link_queued_bytes(e.link);
        if (sent % 64 == 0) turn(&e);
    }
    CHECK(highest <= link_queued_max(e.link) + 40);
    CHECK(highest >= 2 * LINK_WINDOW_BYTES);
    CHECK_EQ(e.failures, 0); /* told in a poll, not from within link_entry */
    turn(&e);
    CHECK_EQ(e.failures, 1);
    CHECK_EQ(e.culprit, PEER);
    CHECK_STR(e.reason, "takes nothing");
    CHECK(link_is_drained(e.link) && link_peer_is_gone(e.link));
    close(fd);
    uring_fini(e.uring);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static void check_failed(struct end *e, unsigned culprit, const char *reason)
{
    TURN_UNTIL(e, NULL, e->failures > 0);
    CHECK_EQ(e->culprit, culprit);
    CHECK_STR(e->reason, reason);
    CHECK(!link_entry(e->link, 1));
    link_flush(e->link);
    link_bye(e->link);
    link_lost(e->link, 2, "x");
    CHECK(link_is_drained(e->link));
    CHECK(link_peer_is_gone(e->link));
    turn_for(e, NULL, 0.01);
    CHECK_EQ(e->failures, 1);
}

static void check_rejects(const void *bytes, size_t n, const char *reason)
{
    struct end e;
    char rest[8];
    ssize_t got;
    int fd = open_end_and_socket(&e);
    say(fd, bytes, n);
    check_failed(&e, PEER, reason);
    CHECK_EQ(e.entries, 0);
    while ((got = recv(fd, rest, sizeof rest, 0)) > 0) continue; /* it says why it leaves */
    CHECK_EQ(got, 0);                                            /* and the peer sees the end */
    close(fd);
    uring_fini(e.uring);
}

TEST(link, fails_at_frames_that_do_not_validate)
{
    uint64_t bytes[64];
    struct wire_frame *f = (void *)bytes;
    struct wire_entry *x = (void *)(f + 1);
    size_t n = make_frame(bytes, 0, 0, 1, 3);
    f->magic ^= 1;
    check_rejects(bytes, n, "sent bytes that are no frame of locus");
    make_frame(bytes, 0, 0, 1, 3);
    f->version = 99;
    check_rejects(bytes, n, "sent a frame of another protocol version");
    make_frame(bytes, 0, 0, 1, 3);
    f->kind = 99;
    check_rejects(bytes, n, "sent a frame of no known kind");
    make_frame(bytes, 0, 0, 1, 3);
    f->body_bytes = LINK_FRAME_BYTES + 8;
    check_rejects(bytes, n, "sent a frame larger than agreed");
    make_frame(bytes, 0, 0, 1, 3);
    f->body_bytes -= 1;
    check_rejects(bytes, n, "sent a frame whose length is not a multiple of 8");
    make_frame(bytes, 1, 0, 1, 3);
    check_rejects(bytes, n, "sent a frame out of sequence");
    make_frame(bytes, 0, 0, 1, 3);
    x->length = 5000;
    check_rejects(bytes, n, "sent an entry longer than its frame");
}

/* A header is judged when it is there, not when its frame is whole. */
TEST(link, does_not_wait_for_the_rest_of_a_bad_frame)
{
    uint64_t bytes[64];
    make_frame(bytes, 3, 0, 1, 3);
    check_rejects(bytes, 40, "out of sequence");
}

TEST(link, checks_the_sequence_of_later_frames)
{
    struct end e;
    uint64_t bytes[64];
    int fd = open_end_and_socket(&e);
    size_t n = make_frame(bytes, 0, 0, 1, 3);
    say(fd, bytes, n);
    say(fd, bytes, n); /* once more */
    check_failed(&e, PEER, "sent a frame out of sequence");
    CHECK_EQ(e.entries, 1);
    close(fd);
    uring_fini(e.uring);
}

TEST(link, fails_when_its_owner_says_so)
{
    struct end e;
    uint64_t bytes[64];
    int fd = open_end_and_socket(&e);
    e.veto = "a key that does not exist";
    size_t n = make_frame(bytes, 0, 0, 1, 3);
    make_frame(bytes + n / 8, 1, 1, 1, 3);
    say(fd, bytes, 2 * n);
    check_failed(&e, PEER, "sent a key that does not exist");
    close(fd);
    uring_fini(e.uring);
}

TEST(link, fails_when_the_peer_dies_in_the_middle_of_a_frame)
{
    struct end e;
    uint64_t bytes[64];
    int fd = open_end_and_socket(&e);
    size_t n = make_frame(bytes, 0, 0, 1, 3);
    say(fd, bytes, n);
    say(fd, bytes, 20);
    close(fd);
    check_failed(&e, PEER, "closed the connection");
    CHECK_EQ(e.entries, 1);
    uring_fini(e.uring);
}

/* As the kernel ends the connections of a killed process that had not read everything. */
TEST(link, fails_when_the_connection_is_reset)
{
    struct end e;
    int fd = open_end_and_socket(&e);
    put_entry(e.link, 0, 100);
    link_flush(e.link);
    turn_for(&e, NULL, 0.01);
    close(fd);
    check_failed(&e, PEER, "closed the connection");
    uring_fini(e.uring);
}

TEST(link, fails_when_the_peer_dies_while_much_is_under_way)
{
    struct end e;
    int fd = open_end_and_socket(&e);
    for (uint64_t sent = 0; link_queued_bytes(e.link) < LINK_WINDOW_BYTES; sent++) {
        CHECK(put_entry(e.link, sent, 1000));
        if (sent % 100 == 0) turn(&e);
    }
    link_flush(e.link);
    turn(&e);
    close(fd);
    check_failed(&e, PEER, "closed the connection");
    CHECK_EQ(link_queued_bytes(e.link), 0);
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
    const struct uring_events events = {&o, on_frame, note_failed};
    CHECK_EQ(uring_init(&u, &events, NODES, 0, 10), 0);
    for (unsigned peer = 1; peer < NODES; peer++) {
        connect_pair(fd[peer]);
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

/* ---- goodbye ----------------------------------------------------------------------------------------------------- */

TEST(link, takes_a_goodbye_behind_everything_queued)
{
    struct end e[2];
    open_ends(e);
    for (uint64_t tag = 0; tag < 5000; tag++) CHECK(put_entry(e[0].link, tag, 100));
    link_bye(e[0].link);
    CHECK(!link_entry(e[0].link, 1));
    TURN_UNTIL(&e[0], &e[1], link_is_drained(e[0].link) && link_peer_is_gone(e[1].link));
    CHECK_EQ(e[1].entries, 5000);
    CHECK(!link_peer_is_gone(e[0].link));
    CHECK(put_entry(e[1].link, 0, 10)); /* the other direction goes on */
    link_bye(e[1].link);
    TURN_UNTIL(&e[0], &e[1], link_peer_is_gone(e[0].link));
    CHECK_EQ(e[0].entries, 1);
    uring_fini(e[0].uring);
    turn_for(&e[1], NULL, 0.05);
    CHECK_EQ(e[0].failures + e[1].failures, 0);
    uring_fini(e[1].uring);
}

/* Whoever says goodbye first: the end of the connection is none of the failures. */
TEST(link, does_not_fail_when_it_ends_after_its_own_goodbye)
{
    struct end e;
    int fd = open_end_and_socket(&e);
    link_bye(e.link);
    turn_for(&e, NULL, 0.01);
    close(fd);
    TURN_UNTIL(&e, NULL, link_peer_is_gone(e.link));
    turn_for(&e, NULL, 0.01);
    CHECK_EQ(e.failures, 0);
    CHECK(!link_entry(e.link, 1));
    uring_fini(e.uring);
}

TEST(link, does_not_fail_when_it_ends_after_the_peers_goodbye)
{
    struct end e;
    uint64_t bytes[64];
    int fd = open_end_and_socket(&e);
    size_t n = make_frame(bytes, 0, 0, 1, 1);
    n += make_notice(bytes + n / 8, 1, WIRE_BYE, 0, "");
    say(fd, bytes, n);
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
    int fd = open_end_and_socket(&e);
    size_t n = make_notice(bytes, 0, WIRE_BYE, 0, "");
    n += make_frame(bytes + n / 8, 1, 0, 1, 1);
    say(fd, bytes, n);
    check_failed(&e, PEER, "sent a frame behind its goodbye");
    close(fd);
    uring_fini(e.uring);
}

TEST(link, names_the_node_that_was_lost_not_the_messenger)
{
    struct end e[2];
    open_ends(e);
    CHECK(put_entry(e[0].link, 0, 10));
    link_lost(e[0].link, 3, "was silent for 10 s");
    TURN_UNTIL(&e[0], &e[1], e[1].failures > 0);
    CHECK_EQ(e[1].entries, 1);
    CHECK_EQ(e[1].culprit, 3);
    CHECK(strcmp(e[1].reason, "was silent for 10 s") == 0);
    turn_for(&e[0], &e[1], 0.05); /* it closes: no failure for who left */
    CHECK_EQ(e[0].failures, 0);
    close_ends(e);
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
    connect_pair(fd);
    open_end_by(&e, fd[0], 0, 10, 0);
    say(fd[1], bytes, make_notice(bytes, 0, WIRE_LOST, 2, "was silent for 7 s"));
    reset(fd[1]);
    CHECK(put_entry(e.link, 0, 100));
    link_flush(e.link);
    CHECK_EQ(uring_start(e.uring, now_ns()), 0); /* the send comes before the receive */
    check_failed(&e, 2, "was silent for 7 s");
    CHECK(e.link->send_error != 0);
    uring_fini(e.uring);
}

TEST(link, shows_no_more_of_a_notice_than_a_line_of_text)
{
    char text[300], bytes[400] __attribute__((aligned(8)));
    struct end e;
    int fd = open_end_and_socket(&e);
    memset(text, 'x', sizeof text);
    memcpy(text, "evil \n\033[31m\xff", 12);
    text[sizeof text - 1] = '\0';
    say(fd, bytes, make_notice(bytes, 0, WIRE_LOST, 2, text));
    check_failed(&e, 2, "evil ??[31m?xxx");
    CHECK(strlen(e.reason) < LINK_REASON_BYTES);
    close(fd);
    uring_fini(e.uring);
}

TEST(link, does_not_believe_in_nodes_that_do_not_exist)
{
    struct end e;
    uint64_t bytes[64];
    int fd = open_end_and_socket(&e);
    say(fd, bytes, make_notice(bytes, 0, WIRE_LOST, NODES, "is gone"));
    check_failed(&e, PEER, "sent a notice of failure about node 4 of 4");
    close(fd);
    uring_fini(e.uring);
}

/* ---- time: the ring's own ---------------------------------------------------------------------------------------- */

static void go_on_to(struct end *e, uint64_t now)
{
    e->now = now;
    turn(e);
    uring_tick(e->uring, now);
    turn(e);
}

/* An end whose time begins at 1000 s; its peer is a bare socket, which answers nothing. */
static int open_end_in_time(struct end *e, double timeout_s)
{
    int fd[2];
    connect_pair(fd);
    open_end_by(e, fd[0], 0, timeout_s, 0);
    e->now = 1000 * SECOND;
    CHECK_EQ(uring_start(e->uring, e->now), 0);
    return fd[1];
}

TEST(link, fails_when_the_peer_is_silent)
{
    struct end e;
    uint64_t bytes[64], t = 1000 * SECOND;
    int fd = open_end_in_time(&e, 10);
    for (int i = 0; i < 5; i++) go_on_to(&e, t += SECOND);
    size_t n = make_frame(bytes, 0, 0, 1, 1);
    say(fd, bytes, n - 1); /* any byte counts */
    TURN_UNTIL(&e, NULL, has_come(&e, n - 1));
    for (int i = 0; i < 9; i++) go_on_to(&e, t += SECOND);
    go_on_to(&e, t += 999 * SECOND / 1000);
    CHECK_EQ(e.failures, 0);
    CHECK_EQ(uring_next_tick_ns(e.uring), 1015 * SECOND);
    go_on_to(&e, t + SECOND / 1000);
    CHECK_EQ(e.failures, 1);
    check_failed(&e, PEER, "was silent for 10 s");
    CHECK(uring_next_tick_ns(e.uring) == UINT64_MAX);
    close(fd);
    uring_fini(e.uring);
}

/* Stopped for a minute, say: whoever was alive then gets the time that was left to it. */
TEST(link, does_not_count_time_in_which_its_own_thread_did_not_run)
{
    struct end e;
    uint64_t t = 1000 * SECOND;
    int fd = open_end_in_time(&e, 10);
    for (int i = 0; i < 5; i++) go_on_to(&e, t += SECOND);
    go_on_to(&e, t += 60 * SECOND);
    for (int i = 0; i < 3; i++) go_on_to(&e, t += SECOND);
    CHECK_EQ(e.failures, 0);
    for (int i = 0; i < 3; i++) go_on_to(&e, t += SECOND);
    CHECK_EQ(e.failures, 1);
    close(fd);
    uring_fini(e.uring);
}

static uint64_t frames_sent(const struct end *e)
{
    return link_stats(e->link).frames_sent;
}

static void check_heartbeats(double timeout_s, uint64_t interval_ns)
{
    struct end e;
    uint64_t t = 1000 * SECOND;
    int fd = open_end_in_time(&e, timeout_s);
    CHECK_EQ(uring_next_tick_ns(e.uring), t + interval_ns);
    go_on_to(&e, t += interval_ns - 1);
    CHECK_EQ(frames_sent(&e), 0);
    go_on_to(&e, t += 1);
    TURN_UNTIL(&e, NULL, frames_sent(&e) == 1);
    CHECK_EQ(link_stats(e.link).bytes_sent, sizeof(struct wire_frame));
    CHECK_EQ(uring_next_tick_ns(e.uring), t + interval_ns);
    /* A frame of any kind counts as one. */
    e.now = t += interval_ns / 2;
    turn(&e);
    CHECK(put_entry(e.link, 0, 1));
    link_flush(e.link);
    TURN_UNTIL(&e, NULL, frames_sent(&e) == 2);
    go_on_to(&e, t += interval_ns - 1);
    CHECK_EQ(frames_sent(&e), 2);
    go_on_to(&e, t + 1);
    TURN_UNTIL(&e, NULL, frames_sent(&e) == 3);
    close(fd);
    uring_fini(e.uring);
}

TEST(link, sends_a_heartbeat_every_quarter_of_the_timeout_and_every_second_when_it_is_idle)
{
    check_heartbeats(10, SECOND);
    check_heartbeats(0.4, SECOND / 10);
}

/* Heartbeats alone keep both ends content, in real time and asleep in between. */
TEST(link, stays_when_both_ends_are_idle)
{
    int fd[2];
    struct end e[2];
    connect_pair(fd);
    open_end(&e[0], fd[0], 0.4);
    open_end(&e[1], fd[1], 0.4);
    unsigned sleeps = 0;
    for (uint64_t end = now_ns() + SECOND; now_ns() < end; sleeps++) {
        for (int i = 0; i < 2; i++) {
            uint64_t tick = uring_next_tick_ns(e[i].uring), soon = now_ns() + SECOND / 50;
            uring_wait(e[i].uring, tick < soon ? tick : soon);
            uring_poll(e[i].uring, now_ns());
            uring_tick(e[i].uring, now_ns());
        }
    }
    CHECK_EQ(e[0].failures + e[1].failures, 0);
    CHECK(frames_sent(&e[0]) >= 5 && frames_sent(&e[0]) <= 11);
    CHECK(sleeps < 300);
    close_ends(e);
}

/* ---- sleep and wake-up ------------------------------------------------------------------------------------------- */

TEST(uring, sleeps_until_it_is_told)
{
    struct end e;
    int fd = open_end_and_socket(&e);
    turn(&e);
    uint64_t start = now_ns();
    for (int i = 0; i < 3; i++) uring_wait(e.uring, start + SECOND / 10);
    CHECK(now_ns() >= start + SECOND / 10);
    CHECK(now_ns() < start + 5 * SECOND);
    close(fd);
    uring_fini(e.uring);
}

TEST(uring, does_not_sleep_when_something_has_come_or_failed)
{
    struct end e;
    uint64_t bytes[64], start = now_ns();
    int fd = open_end_and_socket(&e);
    turn(&e);
    say(fd, bytes, make_frame(bytes, 0, 0, 1, 1));
    while (e.entries == 0) {
        uring_wait(e.uring, start + 60 * SECOND);
        uring_poll(e.uring, now_ns());
    }
    while (put_entry(e.link, 0, 1000)) {
    } /* fails in the end */
    while (e.failures == 0) {
        uring_wait(e.uring, start + 60 * SECOND);
        uring_poll(e.uring, now_ns());
    }
    CHECK(now_ns() < start + 30 * SECOND);
    close(fd);
    uring_fini(e.uring);
}

TEST(uring, ends_the_next_sleep_when_it_is_woken_before)
{
    struct end e;
    uint64_t start = now_ns();
    int fd = open_end_and_socket(&e);
    turn(&e);
    uring_wake(e.uring);
    uring_wake(e.uring);
    uring_wait(e.uring, start + 60 * SECOND);
    CHECK(uring_poll(e.uring, now_ns()) > 0);
    CHECK(now_ns() < start + 30 * SECOND);
    close(fd);
    uring_fini(e.uring);
}

enum { WAKES = 100000 };

struct bell {
    struct uring *uring;
    uint64_t rung, heard; /* shared */
};

/* Rings, and waits until it was heard: a wake-up that gets lost stops everything. */
static void *ring_the_bell(void *context)
{
    struct bell *b = context;
    unsigned seed = 9;
    for (uint64_t i = 1; i <= WAKES; i++) {
        __atomic_store_n(&b->rung, i, __ATOMIC_RELEASE);
        uring_wake(b->uring);
        for (int k = rand_r(&seed) % 300; k > 0; k--) __atomic_load_n(&b->heard, __ATOMIC_RELAXED);
        if (rand_r(&seed) % 4) continue;
        while (__atomic_load_n(&b->heard, __ATOMIC_ACQUIRE) < i) sched_yield();
    }
    return NULL;
}

TEST(uring, loses_no_wake_up)
{
    struct end e;
    pthread_t ringer;
    int fd = open_end_and_socket(&e);
    struct bell b = {.uring = e.uring};
    CHECK(!pthread_create(&ringer, NULL, ring_the_bell, &b));
    for (uint64_t heard = 0; heard < WAKES;) {
        uint64_t before = now_ns();
        if (uring_poll(e.uring, before) == 0) uring_wait(e.uring, before + 20 * SECOND);
        CHECK(now_ns() - before < 10 * SECOND);
        heard = __atomic_load_n(&b.rung, __ATOMIC_ACQUIRE);
        __atomic_store_n(&b.heard, heard, __ATOMIC_RELEASE);
    }
    pthread_join(ringer, NULL);
    close(fd);
    uring_fini(e.uring);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 3000 };

struct half {
    int fd;
    struct end end;
    bool asks, sleeps;
};

static void rest(struct half *h)
{
    if (h->sleeps)
        uring_wait(h->end.uring, now_ns() + SECOND);
    else
        uring_submit(h->end.uring);
}

static void *run_half(void *context)
{
    struct half *h = context;
    struct end *e = &h->end;
    CHECK_EQ(uring_start(e->uring, now_ns()), 0);
    e->echoes = !h->asks;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        if (h->asks) put_entry(e->link, i, 100);
        link_flush(e->link);
        while (e->entries <= i && e->failures == 0) {
            rest(h);
            uring_poll(e->uring, now_ns());
            uring_tick(e->uring, now_ns());
        }
    }
    link_bye(e->link);
    while (!link_is_drained(e->link) || !link_peer_is_gone(e->link)) {
        rest(h);
        uring_poll(e->uring, now_ns());
    }
    return NULL;
}

/* The rings are opened here, used there, and closed here when that thread has ended. */
static void run_halves(bool sleeps)
{
    int fd[2];
    pthread_t thread[2];
    struct half half[2] = {{.asks = true, .sleeps = sleeps}, {.sleeps = sleeps}};
    connect_pair(fd);
    for (int i = 0; i < 2; i++) {
        open_end_by(&half[i].end, fd[i], 0, 10, 0);
        CHECK(!pthread_create(&thread[i], NULL, run_half, &half[i]));
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        CHECK_EQ(half[i].end.entries, ROUNDS);
        CHECK_EQ(half[i].end.failures, 0);
        uring_fini(half[i].end.uring);
    }
}

TEST(uring, serves_two_threads_that_spin)
{
    run_halves(false);
}

TEST(uring, serves_two_threads_that_sleep)
{
    run_halves(true);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static int open_descriptors(void)
{
    int n = 0;
    DIR *all = opendir("/proc/self/fd");
    CHECK(all);
    while (readdir(all)) n++;
    closedir(all);
    return n;
}

static void *start_and_leave(void *context)
{
    struct end *e = context;
    CHECK_EQ(uring_start(e->uring, now_ns()), 0);
    for (uint64_t tag = 0; link_queued_bytes(e->link) < LINK_WINDOW_BYTES; tag++) CHECK(put_entry(e->link, tag, 1000));
    turn(e);
    uring_wait(e->uring, now_ns() + SECOND / 1000);
    return NULL;
}

/* In the middle of everything, on the ring's own thread or when that has ended; the peer sees the end at once. */
TEST(uring, closes_at_any_time)
{
    int before = open_descriptors();
    for (int i = 0; i < 100; i++) {
        int fd[2];
        struct end e;
        pthread_t thread;
        connect_pair(fd);
        open_end_by(&e, fd[0], 0, 10, 0);
        if (i % 3 == 0) {
            CHECK(!pthread_create(&thread, NULL, start_and_leave, &e));
            pthread_join(thread, NULL);
        } else if (i % 3 == 1) {
            start_and_leave(&e);
            uring_stop(e.uring);
        } else if (i % 2 == 0) {
            start_and_leave(&e);
        }
        uring_fini(e.uring);
        char rest[65536];
        ssize_t n;
        while ((n = recv(fd[1], rest, sizeof rest, 0)) > 0) {
        }
        CHECK_EQ(n, 0);
        close(fd[1]);
    }
    CHECK_EQ(open_descriptors(), before);
}

TEST(uring, says_which_limit_is_too_low)
{
    struct rlimit limit;
    struct uring *u = (void *)1;
    const struct uring_events events = {NULL, on_frame, on_failed};
    getrlimit(RLIMIT_NOFILE, &limit);
    rlim_t before = limit.rlim_cur;
    int next = dup(STDERR_FILENO);
    close(next);
    limit.rlim_cur = (rlim_t)next; /* for the wake-up it is one too few, then for the ring */
    setrlimit(RLIMIT_NOFILE, &limit);
    CHECK_EQ(uring_init(&u, &events, NODES, 0, 10), -EMFILE);
    CHECK(!u);
    CHECK_STR(locus_error(), "`ulimit -n`");
    limit.rlim_cur++;
    setrlimit(RLIMIT_NOFILE, &limit);
    CHECK_EQ(uring_init(&u, &events, NODES, 0, 10), -EMFILE);
    CHECK_STR(locus_error(), "`ulimit -n`");
    limit.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &limit);
    CHECK_EQ(uring_init(&u, &events, NODES, 0, 10), 0);
    uring_fini(u);
    uring_fini(NULL);
}
