/* Memory that two nodes of one host share: nonsense, names, sizes. What it carries, and
 * who is woken: link_test.c, uring_test.c. */
#include "net/common.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Two nodes' ends of one memory. */
struct both {
    struct common *a, *b;
    char name[COMMON_TEXT_BYTES];
    int fd; /* of the file, as somebody has it who writes nonsense */
};

static int open_file(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "/dev/shm/%s", name);
    return open(path, O_RDWR | O_CLOEXEC);
}

static void both_begin(struct both *s)
{
    char place[COMMON_TEXT_BYTES];
    if (!common_place(place)) SKIP("there is no /dev/shm here");
    s->a = common_create(COMMON_RING_MAX, s->name);
    if (!s->a) SKIP("there is no room in /dev/shm here");
    s->fd = open_file(s->name);
    CHECK(s->fd >= 0);
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

/* common.h: neither believes the other's numbers. They begin the file: written and read of the
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
        while (common_room(s.a) > 0 && common_write(s.a, &piece, 1) == 1) continue;
        CHECK_EQ(pwrite(s.fd, &wrong[i], 8, 64), 8);
        CHECK_EQ(common_write(s.a, &piece, 1), -EBADMSG);
        CHECK_EQ(common_room(s.a), 0);
        CHECK(common_unread(s.a) <= COMMON_RING_MAX);
    }
}

/* Wherever a look at it comes first: by who reads, writes, or sleeps. */
TEST(common, file_that_is_cut_is_nonsense_and_ends_no_process)
{
    char some[5000] = "";
    const struct iovec piece = {some, sizeof some};
    for (int first = 0; first < 4; first++) {
        CLOSED_BY(both_end) struct both s;
        both_begin(&s);
        CHECK_EQ(common_write(s.a, &piece, 1), sizeof some);
        CHECK_EQ(common_read(s.b, some, 3), 3);
        CHECK_EQ(ftruncate(s.fd, first % 2 ? 0 : 8192), 0); /* all, or what is in a ring */
        if (first == 2) common_sleep(s.b, true);
        if (first == 3) CHECK(common_has_news(s.b, false));
        CHECK_EQ(common_read(s.b, some, sizeof some), -EBADMSG);
        CHECK_EQ(common_read(s.b, some, sizeof some), -EBADMSG);
        ssize_t n = 1;
        for (int i = 0; i < 100 && n > 0; i++) n = common_write(s.a, &piece, 1);
        CHECK_EQ(n, -EBADMSG);
        CHECK_EQ(common_room(s.a), 0);
    }
}

/* Whose handler was there before has all others. */
static void on_other(int number)
{
    _exit(number == SIGBUS ? 7 : 8);
}

TEST(common, handler_of_others_has_what_is_not_ours)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct both s;
        signal(SIGBUS, on_other);
        both_begin(&s);
        char *at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, s.fd, 0);
        if (at == MAP_FAILED || ftruncate(s.fd, 0)) _exit(9);
        _exit(*(volatile char *)at);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

TEST(common, name_is_gone_when_both_have_it_or_the_first_has_left)
{
    struct both s;
    both_begin(&s);
    CHECK_EQ(open_file(s.name), -1);
    CHECK(!common_open(COMMON_RING_MAX, s.name));
    both_end(&s);
    struct common *alone = common_create(COMMON_RING_MAX, s.name);
    CHECK(alone);
    common_free(alone);
    CHECK_EQ(open_file(s.name), -1);
}

TEST(common, open_refuses_other_files)
{
    static const char *const files[] = {"not-of-locus", "locus-1-short"};
    static const char *const names[] = {"", "locus-1/../../../etc/passwd", "locus-1-nowhere"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        snprintf(path, sizeof path, "/dev/shm/%s", files[i]);
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0) SKIP("there is no /dev/shm here");
        CHECK_EQ(write(fd, "x", 1), 1);
        CHECK(!common_open(COMMON_RING_MAX, files[i]));
        close(fd);
        CHECK_EQ(unlink(path), 0); /* what is not ours is not removed */
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (common_open(COMMON_RING_MAX, names[i]))
            test_fail(__FILE__, __LINE__, "\"%s\" was opened", names[i]);
}
