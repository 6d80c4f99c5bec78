/* Common memory of two nodes of one host: nonsense, names, sizes. What it carries, and
 * who is woken: link_test.c, uring_test.c. */
#include "net/common.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Two nodes' ends of one memory. */
struct both {
    struct common *a, *b;
    char name[COMMON_TEXT_BYTES];
    int fd; /* of it, as somebody has it who writes nonsense */
};

static void both_begin(struct both *s)
{
    int pid, fd;
    char place[COMMON_TEXT_BYTES];
    if (!common_place(place)) SKIP("there is no /proc here");
    s->a = common_create(COMMON_RING_MAX, s->name);
    if (!s->a) SKIP("there is no common memory here");
    CHECK_EQ(sscanf(s->name, "%9d %9d", &pid, &fd), 2);
    CHECK_EQ(pid, getpid());
    s->fd = dup(fd);
    CHECK(!common_open(COMMON_RING_MAX / 2, s->name));
    CHECK(!common_open(COMMON_RING_MAX * 2, s->name));
    s->b = common_open(COMMON_RING_MAX, s->name);
    CHECK(s->b);
}

static void both_end(struct both *s)
{
    common_free(s->a);
    common_free(s->b);
    close(s->fd);
}

/* common.h: neither believes the other's numbers. They begin it: written and read of the
 * ring from a to b, 64 bytes apart. */
TEST(common, numbers_of_the_peer_that_cannot_be_are_refused)
{
    static const uint64_t wrong[] = {COMMON_RING_MAX + 1, UINT64_C(1) << 63, UINT64_MAX};
    unsigned char byte = 0;
    const struct iovec piece = {&byte, 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CLOSED_BY(both_end) struct both s;
        both_begin(&s);
        CHECK_EQ(pwrite(s.fd, &wrong[i], 8, 0), 8);
        CHECK_EQ(common_read(s.b, &byte, 1), -EBADMSG);
        while (common_room(s.a, 1) > 0 && common_write(s.a, &piece, 1) == 1) continue;
        CHECK_EQ(pwrite(s.fd, &wrong[i], 8, 64), 8);
        CHECK_EQ(common_write(s.a, &piece, 1), -EBADMSG);
        CHECK_EQ(common_room(s.a, 1), -EBADMSG);
        CHECK(common_unread(s.a) <= COMMON_RING_MAX);
    }
}

/* What was mapped stays: a look at it never ends the process. */
TEST(common, nobody_changes_its_size)
{
    CLOSED_BY(both_end) struct both s;
    both_begin(&s);
    CHECK_EQ(ftruncate(s.fd, 0), -1);
    CHECK_EQ(ftruncate(s.fd, 4 * COMMON_RING_MAX), -1);
    CHECK_EQ(fcntl(s.fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
}

TEST(common, cannot_be_opened_once_both_have_it_or_the_first_has_left)
{
    struct both s;
    both_begin(&s);
    common_close(s.a);
    CHECK(!common_open(COMMON_RING_MAX, s.name));
    both_end(&s);
    struct common *alone = common_create(COMMON_RING_MAX, s.name);
    CHECK(alone);
    common_free(alone);
    CHECK(!common_open(COMMON_RING_MAX, s.name));
}

/* As it would be named if it were such memory. */
static void check_refused(int fd, unsigned number)
{
    char name[COMMON_TEXT_BYTES];
    snprintf(name, sizeof name, "%d %d %x", getpid(), fd, number);
    CHECK(!common_open(COMMON_RING_MAX, name));
    close(fd);
}

TEST(common, open_refuses_other_files)
{
    static const char *const names[] = {"", "1", "1 1 1", "../../etc/passwd 1 1", "-1 -1 0"};
    const off_t bytes = 4096 + 2 * COMMON_RING_MAX;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (common_open(COMMON_RING_MAX, names[i]))
            test_fail(__FILE__, __LINE__, "\"%s\" was opened", names[i]);
    check_refused(open("/dev/null", O_RDWR | O_CLOEXEC), 1);
    int fd = memfd_create("locus-1", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK_EQ(ftruncate(fd, bytes), 0);
    check_refused(fd, 1); /* which might be cut */
    fd = memfd_create("locus-1", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    check_refused(fd, 1); /* of another size */
}
