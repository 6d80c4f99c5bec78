/* Memory that two nodes of one host share: bytes each way, nonsense, names, sleep. */
#include "net/shared.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct both {
    struct shared *a, *b;
    char name[SHARED_TEXT_BYTES];
    int fd; /* of the file, as somebody has it who writes nonsense */
};

static int open_file(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "/dev/shm/%s", name);
    return open(path, O_RDWR | O_CLOEXEC);
}

static struct both open_both(void)
{
    struct both s;
    char place[SHARED_TEXT_BYTES];
    if (!shared_place(place)) SKIP("there is no /dev/shm here");
    s.a = shared_create(SHARED_RING_MAX, s.name);
    if (!s.a) SKIP("there is no room in /dev/shm here");
    s.fd = open_file(s.name);
    CHECK(s.fd >= 0);
    s.b = shared_open(SHARED_RING_MAX, s.name);
    CHECK(s.b);
    return s;
}

static void close_both(struct both *s)
{
    shared_free(s->a);
    shared_free(s->b);
    close(s->fd);
}

static void check_flow(struct shared *from, struct shared *to, size_t ring)
{
    static unsigned char sent[70000], received[70000];
    uint64_t out = 0, in = 0;
    unsigned seed = 3;
    while (in < 20 * ring) {
        size_t n = (size_t)rand_r(&seed) % sizeof sent, cut = n / 3;
        for (size_t i = 0; i < n; i++) sent[i] = (unsigned char)((out + i) * 2654435761U >> 24);
        const struct iovec piece[2] = {{sent, cut}, {sent + cut, n - cut}};
        ssize_t went = shared_write(from, piece, 2);
        CHECK(went >= 0 && went <= (ssize_t)n);
        out += (uint64_t)went;
        CHECK_EQ(shared_unread(from), out - in);
        CHECK_EQ(shared_room(from), ring - (out - in));
        ssize_t came = shared_read(to, received, (size_t)rand_r(&seed) % sizeof received);
        for (ssize_t i = 0; i < came; i++)
            CHECK_EQ(received[i], (unsigned char)((in + (uint64_t)i) * 2654435761U >> 24));
        in += (uint64_t)came;
    }
}

TEST(shared, carries_bytes_each_way_in_order)
{
    CLOSED_BY(close_both) struct both s = open_both();
    check_flow(s.a, s.b, SHARED_RING_MAX);
    check_flow(s.b, s.a, SHARED_RING_MAX);
}

TEST(shared, is_full_once_and_then_has_room_again)
{
    static unsigned char bytes[2 * SHARED_RING_MAX];
    CLOSED_BY(close_both) struct both s = open_both();
    const struct iovec piece = {bytes, sizeof bytes};
    CHECK_EQ(shared_write(s.a, &piece, 1), SHARED_RING_MAX);
    CHECK_EQ(shared_write(s.a, &piece, 1), 0);
    CHECK_EQ(shared_read(s.b, bytes, 10), 10);
    CHECK_EQ(shared_write(s.a, &piece, 1), 10);
}

/* shared.h: neither believes the other's numbers. They begin the file: written and read of the
 * ring from a to b, 64 bytes apart. */
TEST(shared, numbers_of_the_peer_that_cannot_be_are_refused)
{
    static const uint64_t wrong[] = {SHARED_RING_MAX + 1, UINT64_C(1) << 63, UINT64_MAX};
    unsigned char byte = 0;
    const struct iovec piece = {&byte, 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct both s = open_both();
        CHECK_EQ(pwrite(s.fd, &wrong[i], 8, 0), 8);
        CHECK_EQ(shared_read(s.b, &byte, 1), -EBADMSG);
        while (shared_room(s.a) > 0 && shared_write(s.a, &piece, 1) == 1) continue;
        CHECK_EQ(pwrite(s.fd, &wrong[i], 8, 64), 8);
        CHECK_EQ(shared_write(s.a, &piece, 1), -EBADMSG);
        CHECK_EQ(shared_room(s.a), 0);
        CHECK(shared_unread(s.a) <= SHARED_RING_MAX);
        close_both(&s);
    }
}

TEST(shared, the_name_is_gone_when_both_have_it_or_the_first_has_left)
{
    struct both s = open_both();
    CHECK_EQ(open_file(s.name), -1);
    CHECK(!shared_open(SHARED_RING_MAX, s.name));
    close_both(&s);
    struct shared *alone = shared_create(SHARED_RING_MAX, s.name);
    CHECK(alone);
    shared_free(alone);
    CHECK_EQ(open_file(s.name), -1);
}

static void check_refused(const char *name, const char *content)
{
    char path[128];
    snprintf(path, sizeof path, "/dev/shm/%s", name);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) SKIP("there is no /dev/shm here");
    CHECK_EQ(write(fd, content, strlen(content)), strlen(content));
    CHECK(!shared_open(SHARED_RING_MAX, name));
    close(fd);
    CHECK_EQ(unlink(path), 0); /* what is not ours is not removed */
}

TEST(shared, other_files_are_not_opened)
{
    check_refused("not-of-locus", "x");
    check_refused("locus-1-short", "x");
    CHECK(!shared_open(SHARED_RING_MAX, ""));
    CHECK(!shared_open(SHARED_RING_MAX, "locus-1/../../../etc/passwd"));
    CHECK(!shared_open(SHARED_RING_MAX, "locus-1-nowhere"));
}

TEST(shared, rings_are_smaller_in_larger_clusters_and_of_one_size_at_both_ends)
{
    CHECK_EQ(shared_ring_bytes(2), SHARED_RING_MAX);
    CHECK_EQ(shared_ring_bytes(8), SHARED_RING_MAX);
    CHECK_EQ(shared_ring_bytes(9), SHARED_RING_MAX / 2);
    CHECK_EQ(shared_ring_bytes(64), 32 << 10);
    CHECK_EQ(shared_ring_bytes(4096), SHARED_RING_MIN);
    char place[SHARED_TEXT_BYTES], name[SHARED_TEXT_BYTES];
    struct shared *s = shared_place(place) ? shared_create(SHARED_RING_MIN, name) : NULL;
    if (!s) SKIP("there is no room in /dev/shm here");
    CHECK_EQ(shared_room(s), SHARED_RING_MIN);
    CHECK(!shared_open(SHARED_RING_MAX, name));
    struct shared *other = shared_open(SHARED_RING_MIN, name);
    CHECK(other);
    check_flow(s, other, SHARED_RING_MIN);
    shared_free(other);
    shared_free(s);
}

TEST(shared, who_sleeps_is_woken_once_for_bytes_or_for_room)
{
    static unsigned char bytes[SHARED_RING_MAX];
    CLOSED_BY(close_both) struct both s = open_both();
    const struct iovec few = {bytes, 10}, all = {bytes, sizeof bytes};
    CHECK_EQ(shared_write(s.a, &few, 1), 10);
    CHECK(!shared_must_wake(s.a));
    CHECK(shared_has_news(s.b, false));
    CHECK_EQ(shared_read(s.b, bytes, 10), 10);
    CHECK(!shared_has_news(s.b, false));

    shared_sleep(s.b, false);
    CHECK_EQ(shared_write(s.a, &few, 1), 10);
    CHECK(shared_must_wake(s.a));
    CHECK(!shared_must_wake(s.a));
    shared_awake(s.b);
    CHECK_EQ(shared_write(s.a, &few, 1), 10);
    CHECK(!shared_must_wake(s.a));

    CHECK_EQ(shared_write(s.a, &all, 1), SHARED_RING_MAX - 20);
    shared_sleep(s.a, true);
    CHECK(!shared_has_news(s.a, true));
    CHECK_EQ(shared_read(s.b, bytes, 1), 1);
    CHECK(shared_has_news(s.a, true));
    CHECK(shared_must_wake(s.b));
    CHECK(!shared_must_wake(s.b));
}
