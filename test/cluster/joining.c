/*
 * Joining that must not succeed, as an application meets it: whatever is wrong, locus_open() says
 * in one sentence what, with the value, and what to do. What the parts of joining say is in
 * unit/membership and unit/net; here is what a machine refuses, or how long it stood still.
 */
#include "team.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct locus_table table = {.name = "rows", .rows = 64, .length = 4};

/* ---- a node ---- */

/* The system call answers with that error from now on; when `first` is not negative, only if its
 * first argument is that. */
static void deny(long call, int error, int first)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_K | (first < 0 ? BPF_JGE : BPF_JEQ), first < 0 ? 0 : (unsigned)first,
                 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return;
    parent_tell("skip: seccomp filters are not permitted here");
    exit(0);
}

static struct rlimit descriptors; /* the usual */

static void limit_descriptors(int more)
{
    int next = dup(STDERR_FILENO);
    CHECK(next >= 0);
    close(next);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &descriptors), 0);
    const struct rlimit limit = {(rlim_t)(next + more), descriptors.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* As on a machine whose network is down: not even loopback. */
static void leave_the_network(void)
{
    if (unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) return;
    parent_tell("skip: network namespaces are not permitted here");
    exit(0);
}

/* What the machine lacks, and a number of it. */
enum lack {
    NOTHING,
    IPV4,
    NETWORK,
    IO_URING /* refused with that errno */,
    DESCRIPTORS /* more */
};

static void be_hindered(enum lack lack, int number)
{
    switch (lack) {
    case NOTHING: break;
    case IPV4: deny(SYS_socket, EAFNOSUPPORT, AF_INET); break;
    case NETWORK: leave_the_network(); break;
    case IO_URING: deny(SYS_io_uring_setup, number, -1); break;
    case DESCRIPTORS: limit_descriptors(number); break;
    }
}

struct joiner {
    const char *rendezvous, *secret;
    int rank, size;        /* 0: of two */
    unsigned shards;       /* 0: the default */
    double join_timeout_s; /* 0: HANG_S */
    double peer_timeout_s;
    enum lack lack;
    int number;
};

static void join(struct child *c, struct joiner j)
{
    if (j.secret)
        setenv("LOCUS_SECRET", j.secret, 1);
    else
        unsetenv("LOCUS_SECRET");
    child_start(c, "joiner", "%s %d %d %u %g %g %d %d", j.rendezvous, j.rank, j.size ? j.size : 2,
                j.shards, j.join_timeout_s ? j.join_timeout_s : HANG_S, j.peer_timeout_s,
                (int)j.lack, j.number);
}

/* It says "open", and closes when its parent says so; or it says its sentence. */
ROLE(joiner)
{
    char line[LINE_BYTES];
    struct team t = {TEAM_OF(0, 1, 0, LOCUS_STATIC, &table, 1)};
    int rank, lack, number;
    double join_timeout_s;
    locus *n;
    CHECK_EQ(sscanf(arguments, "%31s %d %d %u %lf %lf %d %d", t.address, &rank, &t.nodes, &t.shards,
                    &join_timeout_s, &t.peer_timeout_s, &lack, &number),
             8);
    struct locus_config c = team_config(&t, rank);
    c.join_timeout_s = join_timeout_s;
    be_hindered((enum lack)lack, number);
    int rc = locus_open(&c, &n);
    if (descriptors.rlim_cur) setrlimit(RLIMIT_NOFILE, &descriptors);
    if (rc) {
        parent_tell("%d %s", rc, locus_error());
        return;
    }
    parent_tell("open");
    if (parent_hear(line)) CHECK_EQ(locus_close(n), 0);
}

/* Returns what it says behind its return value, which must be `rc`. */
static const char *hear_refusal(struct child *c, int rc)
{
    char *sentence;
    const char *line = child_hear(c);
    if (strncmp(line, "skip: ", 6) == 0) SKIP(line + 6);
    if (strtol(line, &sentence, 10) != rc)
        test_fail(__FILE__, __LINE__, "not %d, but: %s", rc, line);
    return sentence;
}

static void is_refused(struct child *c, int rc, const char *sentence)
{
    CHECK_STR(hear_refusal(c, rc), sentence);
    child_wait(c);
}

/* ---- addresses ---- */

static bool has_ipv6(void)
{
    const struct sockaddr_in6 here = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_there = fd >= 0 && bind(fd, (const struct sockaddr *)&here, sizeof here) == 0;
    if (fd >= 0) close(fd);
    return is_there;
}

/* Rendezvous and links, on a machine that has nothing else. */
TEST(joining, cluster_of_ipv6_alone_opens)
{
    char four[ADDRESS_BYTES], address[ADDRESS_BYTES];
    struct child c[3];
    if (!has_ipv6()) SKIP("there is no IPv6 here");
    for (int has_secret = 0; has_secret <= 1; has_secret++) {
        address_new(four);
        snprintf(address, ADDRESS_BYTES, "[::1]%s", strrchr(four, ':'));
        for (int i = 0; i < 3; i++)
            join(&c[i], (struct joiner){.rendezvous = address,
                                        .rank = i,
                                        .size = 3,
                                        .shards = 2,
                                        .secret = has_secret ? "open sesame" : NULL,
                                        .lack = IPV4});
        for (int i = 0; i < 3; i++) child_expect(&c[i], "open");
        for (int i = 0; i < 3; i++) child_tell(&c[i], "close");
        for (int i = 0; i < 3; i++) child_wait(&c[i]);
    }
}

TEST(joining, machine_without_ipv4_or_network_says_so)
{
    struct child c;
    join(&c, (struct joiner){.rendezvous = "127.0.0.1:7777", .rank = 1, .lack = IPV4});
    is_refused(
        &c, -EAFNOSUPPORT,
        "the rendezvous \"127.0.0.1:7777\" is an IPv4 address, and this machine has no IPv4: give it as IPv6, like "
        "[fd00::1]:7777");
    join(&c,
         (struct joiner){
             .rendezvous = "192.0.2.1:7777", .rank = 1, .lack = NETWORK, .secret = "open sesame"});
    is_refused(
        &c, -ENETUNREACH,
        "no way to the rendezvous \"192.0.2.1:7777\": Network is unreachable; connect this machine to that network, "
        "or give another address of rank 0 with LOCUS_RENDEZVOUS");
}

/* ---- the rendezvous ---- */

static void await_listener(const char *address)
{
    int fd;
    AWAIT((fd = address_dial(address)) >= 0);
    close(fd);
}

/* Rank 0 stands still from when it has let rank 1 join until that has given up, after so many
 * seconds. False: it stood still too early, or too late. */
static bool leave_rank_0(struct child c[2], const char *address, int timeout_s)
{
    struct joiner j = {
        .rendezvous = address, .size = 3, .peer_timeout_s = 4 * HANG_S, .secret = "open sesame"};
    join(&c[0], j);
    await_listener(address);
    j.rank = 1;
    j.join_timeout_s = timeout_s;
    join(&c[1], j);
    sleep_s(timeout_s / 2.0);
    child_signal(&c[0], SIGSTOP);
    bool is_left = strstr(hear_refusal(&c[1], -ETIMEDOUT), "rank 0 has let us join") != NULL;
    child_wait(&c[1]);
    if (is_left)
        child_signal(&c[0], SIGCONT);
    else
        child_kill(&c[0]);
    return is_left;
}

/* It finds at once that the time is over and that rank 1 is gone: it names who did not come. */
TEST(joining, rank_that_does_not_come_is_named_by_a_rank_0_that_stood_still)
{
    char address[ADDRESS_BYTES], sentence[256];
    struct child c[2];
    int timeout_s = 1;
    for (address_new(address); !leave_rank_0(c, address, timeout_s); address_new(address))
        if ((timeout_s *= 2) > HANG_S / 2) SKIP("this machine is too slow to stop rank 0 in time");
    snprintf(sentence, sizeof sentence, "rank 2 of 3 has not joined after %d s; rendezvous %s",
             timeout_s, address);
    is_refused(&c[0], -ETIMEDOUT, sentence);
}

/* ---- what the system refuses ---- */

/* The node that cannot start says why, and so do the others. */
TEST(joining, io_uring_that_is_refused_is_named_by_all)
{
    static const struct {
        int error;
        const char *sentence;
    } all[] = {
        {EPERM,
         "io_uring is refused (Operation not permitted): set kernel.io_uring_disabled to 0 with sysctl, or "
         "allow io_uring in the container's seccomp profile"},
        {ENOSYS,
         "this kernel has no io_uring, or a seccomp profile hides it (Function not implemented): locus "
         "needs Linux 5.7 or newer"},
        {ENOMEM, "no memory for an io_uring: raise `ulimit -l`, which is "},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char address[ADDRESS_BYTES], others[512];
        struct child c[2];
        address_new(address);
        join(&c[0], (struct joiner){.rendezvous = address});
        join(&c[1],
             (struct joiner){
                 .rendezvous = address, .rank = 1, .lack = IO_URING, .number = all[i].error});
        is_refused(&c[1], -all[i].error, all[i].sentence);
        snprintf(others, sizeof others, "could not start: %.60s", all[i].sentence);
        const char *said = hear_refusal(&c[0], -ECONNRESET);
        CHECK_STR(said, "node 1 (127.0.0.1:");
        CHECK_STR(said, others);
        child_wait(&c[0]);
    }
}

/* Wherever the descriptors end. */
TEST(joining, too_few_descriptors_are_named)
{
    int refused = 0;
    for (int more = 0; more < 64; more += more < 24 ? 3 : 10) {
        char address[ADDRESS_BYTES];
        struct child c[2];
        address_new(address);
        struct joiner j = {.rendezvous = address, .shards = 4};
        join(&c[0], j);
        await_listener(address);
        j.rank = 1;
        j.join_timeout_s = 2;
        j.lack = DESCRIPTORS;
        j.number = more;
        join(&c[1], j);
        const char *line = child_hear(&c[1]);
        if (strcmp(line, "open") != 0) {
            refused++;
            CHECK_STR(line, "ulimit -n`");
        }
        for (int i = 0; i < 2; i++) child_kill(&c[i]);
    }
    CHECK(refused > 0);
}
