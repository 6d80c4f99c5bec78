/* ring: what ends on one thread and begins on another at the same address; a child does not have
 * it. */
#include "base/ring.h"

#include "test.h"
#include "alternate.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void use(void)
{
    CLOSED_BY(ring_close) struct io_uring ring;
    struct io_uring_cqe *done;
    CHECK_EQ(ring_open(&ring, 4, &(struct io_uring_params){.flags = 0}), 0);
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
    CHECK(sqe != NULL);
    io_uring_prep_nop(sqe);
    sqe->user_data = 7;
    CHECK_EQ(io_uring_submit(&ring), 1);
    CHECK_EQ(io_uring_wait_cqe(&ring, &done), 0);
    CHECK_EQ(done->user_data, 7);
    io_uring_cqe_seen(&ring, done);
}

/* The thread sanitizer is to know that the first one's use is over. */
TEST(ring, open_at_the_address_of_another_threads_ring)
{
    alternate(20, use, use);
}

/* Its first access to the ring's memory ends it. */
TEST(ring, child_does_not_have_the_ring)
{
    CLOSED_BY(ring_close) struct io_uring ring;
    int status;
    CHECK_EQ(ring_open(&ring, 4, &(struct io_uring_params){.flags = 0}), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        _exit((int)*ring.sq.khead);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

TEST(ring, open_returns_what_the_kernel_refuses)
{
    struct io_uring ring;
    CHECK_EQ(ring_open(&ring, 0, &(struct io_uring_params){.flags = 0}), -EINVAL);
}
