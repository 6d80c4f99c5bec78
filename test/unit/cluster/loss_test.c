/* Who is lost. Those that must stop are processes of their own; those that die: test/cluster/loss. */
#include "cluster/message.h"
#include "cluster/peers.h"
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- children ---- */

/* This program executed anew, because nng may have been used already: Criterion does. The
 * constructor finds in the environment which node it is to be: one that will be stopped. */
static const char child_variable[] = "LOCUS_RENDEZVOUS_TEST_CHILD";

static pid_t spawn(const struct node *n)
{
    char task[128], self[] = "/proc/self/exe", *arguments[] = {self, NULL};
    pid_t child;
    snprintf(task, sizeof task, "%d %d %d %g %s", (int)getpid(), n->config.node.rank,
             n->config.node.size, n->config.node.peer_timeout_s, n->config.node.rendezvous);
    setenv(child_variable, task, 1);
    CHECK_EQ(posix_spawn(&child, self, NULL, NULL, arguments, environ), 0);
    unsetenv(child_variable);
    return child;
}

/* One that was stopped and goes on must say that it was itself, and blame nobody else. */
static void expect_to_be_stopped(struct node *n)
{
    node_await_loss(n);
    CHECK_EQ(n->losses, 1);
    CHECK_EQ(n->lost_rank, n->config.node.rank);
    CHECK_EQ(rendezvous_leave(n->rendezvous, false), -ECONNRESET);
    rendezvous_free(n->rendezvous);
    CHECK_EQ(n->losses, 1);
}

__attribute__((constructor)) static void be_a_child(void)
{
    struct node n;
    int parent, rank, size;
    double peer_timeout_s;
    char address[64];
    const char *task = getenv(child_variable);
    if (!task) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CHECK_EQ(sscanf(task, "%d %d %d %lf %63s", &parent, &rank, &size, &peer_timeout_s, address), 5);
    if (getppid() != parent) _exit(1);
    node_init(&n, rank, size, address);
    n.config.node.peer_timeout_s = peer_timeout_s;
    node_join(&n);
    CHECK_EQ(n.rc, 0);
    node_meet(&n);
    expect_to_be_stopped(&n);
    _exit(0);
}

/* ---- loss ---- */

/* Each of those that are left hears of the one, at a barrier and when it leaves, too. */
static void check_loss_by_all(struct node *n, int size, int lost, const char *reason)
{
    char error[TEXT_BYTES];
    snprintf(error, sizeof error, "node %d (127.0.0.1:%d) %s", lost, 9000 + lost, reason);
    for (int rank = 0; rank < size; rank++) {
        if (rank == lost) continue;
        node_expect_loss(&n[rank], lost, reason);
        node_meet(&n[rank]);
        nodes_check(&n[rank], 1, -ECONNRESET, error);
    }
    for (int rank = 0; rank < size; rank++) {
        if (rank == lost) continue;
        node_leave(&n[rank]);
        nodes_check(&n[rank], 1, -ECONNRESET, error);
        CHECK_EQ(n[rank].losses, 1);
    }
}

/* Half of it is longer than a busy machine keeps a thread from running: who was silent for so long
 * is not believed. */
#define SHORT_TIMEOUT_S 4

/* All have joined, `rank` a child, and nothing of it runs any more on return. */
static pid_t join_with_stopped(struct node n[3], int rank)
{
    siginfo_t info;
    nodes_init(n, 3, nodes_address());
    for (int i = 0; i < 3; i++) n[i].config.node.peer_timeout_s = SHORT_TIMEOUT_S;
    pid_t child = spawn(&n[rank]);
    nodes_start_but(n, 3, rank, node_join);
    nodes_finish_but(n, 3, rank);
    nodes_check(n, 3, 0, "");
    nodes_start_but(n, 3, rank, node_meet); /* and know it */
    nodes_finish_but(n, 3, rank);
    nodes_check(n, 3, 0, "");
    CHECK_EQ(kill(child, SIGSTOP), 0);
    CHECK_EQ(waitid(P_PID, (id_t)child, &info, WSTOPPED), 0);
    return child;
}

static void stop_one(int rank)
{
    struct node n[3];
    int status;
    pid_t child = join_with_stopped(n, rank);
    check_loss_by_all(n, 3, rank, "was silent for 4 s");
    sleep_s(0.5);
    kill(child, SIGCONT);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(rendezvous, stopped_member_is_lost_for_all_and_blames_itself)
{
    stop_one(1);
}

TEST(rendezvous, stopped_rank_0_is_lost_for_all_and_blames_itself)
{
    stop_one(0);
}

/* Rank 0 is silent; whose links to the others are silent, too, was cut off itself. */
TEST(rendezvous, member_that_finds_all_others_silent_names_itself)
{
    struct node n[3];
    pid_t child = join_with_stopped(n, 0);
    rendezvous_report_lost(n[1].rendezvous, 2, "was silent for 4 s");
    node_expect_loss(&n[1], 1, "was cut off: it found all other nodes silent");
    node_expect_loss(&n[2], 0, "was silent for 4 s");
    for (int rank = 1; rank < 3; rank++) node_leave(&n[rank]);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* As the links of a node do that ends because something has failed. */
TEST(rendezvous, loss_that_is_reported_after_the_stop_goes_nowhere)
{
    struct node n[2];
    nodes_form(n, 2);
    for (int rank = 1; rank >= 0; rank--) {
        rendezvous_stop(n[rank].rendezvous);
        rendezvous_report_lost(n[rank].rendezvous, 1 - rank, "went mad");
        rendezvous_stop(n[rank].rendezvous);
        rendezvous_free(n[rank].rendezvous);
    }
    CHECK_EQ(n[1].losses, 0);
}

/* One is freed without leaving, and rank 0 is gone right after it has told of the loss: the others
 * must have heard it. */
TEST(rendezvous, first_loss_is_heard_although_rank_0_leaves_at_once)
{
    for (int i = 0; i < 20; i++) {
        struct node n[4];
        nodes_form(n, 4);
        rendezvous_free(n[3].rendezvous);
        node_expect_loss(&n[0], 3, "closed the connection");
        node_leave(&n[0]);
        for (int rank = 1; rank < 3; rank++) {
            node_expect_loss(&n[rank], 3, "closed the connection");
            node_leave(&n[rank]);
        }
        CHECK_EQ(n[3].losses, 0);
    }
}

/* ---- a member that sends what makes no sense ---- */

static struct message *barrier(unsigned flags, unsigned code)
{
    struct message *m = message_new(MESSAGE_BARRIER);
    message_put_u32(m, flags);
    message_put_text(m, "b");
    message_put_u32(m, code);
    message_put_text(m, "");
    message_put_u32(m, 0); /* numbers */
    return m;
}

enum { NONSENSE = 9, TWICE = 8 };

static struct message *nonsense(int which)
{
    struct message *m = NULL;
    switch (which) {
    case 0: return barrier(8, 0); /* no such flag */
    case 1: return barrier(0, MESSAGE_ERRNO_MAX + 1);
    case 2: m = barrier(0, 0); break; /* something behind it */
    case 3: m = message_new(MESSAGE_LEAVE); break;
    case 4: return message_new(MESSAGE_BARRIER);
    case 5: return message_new(MESSAGE_HELLO); /* once more */
    case 6:
        m = message_new(MESSAGE_REPORT);
        message_put_u32(m, 3);
        message_put_text(m, "there is no such rank");
        return m;
    case 7:
        m = message_new(MESSAGE_ABSENT);
        message_put_u32(m, 2);
        return m;
    default: return barrier(0, 0);
    }
    message_put_u32(m, 0);
    return m;
}

TEST(rendezvous, member_that_sends_nonsense_is_lost)
{
    for (int which = 0; which < NONSENSE; which++) {
        struct node n[3];
        unsigned char data[TEXT_BYTES];
        nodes_init(n, 3, nodes_address());
        nodes_start_but(n, 3, 1, node_join);
        int fd = peer_join(&n[1]);
        nodes_finish_but(n, 3, 1);
        peer_hear(fd, MESSAGE_START, data, sizeof data);
        peer_say_message(fd, nonsense(which));
        if (which == TWICE) peer_say_message(fd, nonsense(which));
        for (int rank = 0; rank < 3; rank += 2)
            node_expect_loss(&n[rank], 1, "sent a message that makes no sense");
        close(fd);
        for (int rank = 2; rank >= 0; rank -= 2) node_leave(&n[rank]);
    }
}
