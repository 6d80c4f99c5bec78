/* Shared memory of two nodes of one host: nonsense, names, sizes. What it carries, and
 * who is woken: link_test.c, uring_test.c. */
#include "net/shm.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Two nodes' ends of one memory. */
struct both {
    struct shm *a, *b;
    char name[SHM_TEXT_BYTES];
    int fd; /* of it, as somebody has it who writes nonsense */
};

static void both_begin(struct both *s)
{
    int pid, fd;
    char place[SHM_TEXT_BYTES];
    if (!shm_place(place)) SKIP("there is no /proc here");
    s->a = shm_create(SHM_RING_MAX, s->name);
    if (!s->a) SKIP("there is no shared memory here");
    CHECK_EQ(sscanf(s->name, "%9d %9d", &pid, &fd), 2);
    CHECK_EQ(pid, getpid());
    s->fd = dup(fd);
    CHECK(!shm_attach(SHM_RING_MAX / 2, s->name));
    CHECK(!shm_attach(SHM_RING_MAX * 2, s->name));
    s->b = shm_attach(SHM_RING_MAX, s->name);
    CHECK(s->b);
}

static void both_end(struct both *s)
{
    shm_free(s->a);
    shm_free(s->b);
    close(s->fd);
}

/* shm.h: neither believes the other's numbers. They begin it: written and read of the
 * ring from a to b, 64 bytes apart. */
TEST(shm, numbers_of_the_peer_that_cannot_be_are_refused)
{
    static const uint64_t wrong[] = {SHM_RING_MAX + 1, UINT64_C(1) << 63, UINT64_MAX};
    unsigned char byte = 0;
    const struct iovec piece = {&byte, 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CLOSED_BY(both_end) struct both s;
        both_begin(&s);
        CHECK_EQ(pwrite(s.fd, &wrong[i], 8, 0), 8);
        CHECK_EQ(shm_read(s.b, &byte, 1), -EBADMSG);
        while (shm_room(s.a, 1) > 0 && shm_write(s.a, &piece, 1) == 1) continue;
        CHECK_EQ(pwrite(s.fd, &wrong[i], 8, 64), 8);
        CHECK_EQ(shm_write(s.a, &piece, 1), -EBADMSG);
        CHECK_EQ(shm_room(s.a, 1), -EBADMSG);
        CHECK(shm_unread(s.a) <= SHM_RING_MAX);
    }
}

/* What was mapped stays: a look at it never ends the process. */
TEST(shm, nobody_changes_its_size)
{
    CLOSED_BY(both_end) struct both s;
    both_begin(&s);
    CHECK_EQ(ftruncate(s.fd, 0), -1);
    CHECK_EQ(ftruncate(s.fd, 4 * SHM_RING_MAX), -1);
    CHECK_EQ(fcntl(s.fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
}

TEST(shm, cannot_be_opened_once_both_have_it_or_the_first_has_left)
{
    struct both s;
    both_begin(&s);
    shm_close(s.a);
    CHECK(!shm_attach(SHM_RING_MAX, s.name));
    both_end(&s);
    struct shm *alone = shm_create(SHM_RING_MAX, s.name);
    CHECK(alone);
    shm_free(alone);
    CHECK(!shm_attach(SHM_RING_MAX, s.name));
}

/* As it would be named if it were such memory. */
static void check_refused(int fd, unsigned number)
{
    char name[SHM_TEXT_BYTES];
    snprintf(name, sizeof name, "%d %d %x", getpid(), fd, number);
    CHECK(!shm_attach(SHM_RING_MAX, name));
    close(fd);
}

TEST(shm, open_refuses_other_files)
{
    static const char *const names[] = {"", "1", "1 1 1", "../../etc/passwd 1 1", "-1 -1 0"};
    const off_t bytes = 4096 + 2 * SHM_RING_MAX;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (shm_attach(SHM_RING_MAX, names[i]))
            test_fail(__FILE__, __LINE__, "\"%s\" was opened", names[i]);
    check_refused(open("/dev/null", O_RDWR | O_CLOEXEC), 1);
    int fd = memfd_create("locus-1", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK_EQ(ftruncate(fd, bytes), 0);
    check_refused(fd, 1); /* which might be cut */
    fd = memfd_create("locus-1", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    check_refused(fd, 1); /* of another size */
}
