#include "net/forked.h"

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* How many of them a child has open. */
static int open_in_child(const int *fd, int n)
{
    int status, open = 0;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        for (int i = 0; i < n; i++) open += is_open(fd[i]);
        _exit(open);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(forked, child_has_none_that_is_registered_and_the_parent_all)
{
    enum { COUNT = 100 }; /* more than the list begins with */
    int fd[COUNT];
    for (int i = 0; i < COUNT; i++) fd[i] = dup(STDERR_FILENO);
    CHECK_EQ(open_in_child(fd, COUNT), COUNT);
    for (int i = 0; i < COUNT; i++) CHECK_EQ(forked_register(fd[i]), 0);
    CHECK_EQ(open_in_child(fd, COUNT), 0);
    for (int i = 0; i < COUNT; i++) CHECK(is_open(fd[i]));
    forked_unregister(fd[1]);
    forked_unregister(fd[1]); /* once more: nothing */
    CHECK_EQ(open_in_child(fd, COUNT), 1);
    for (int i = 0; i < COUNT; i++) forked_end(fd[i]);
}

/* The child's own sockets, at the same numbers, are none of the parent's. */
TEST(forked, child_of_the_child_keeps_its_own)
{
    int status, fd = dup(STDERR_FILENO);
    CHECK_EQ(forked_register(fd), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        int again = dup(STDERR_FILENO); /* takes the number that became free */
        _exit(again == fd ? open_in_child(&again, 1) : 2);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(WEXITSTATUS(status), 1);
    forked_unregister(fd);
    close(fd);
}
