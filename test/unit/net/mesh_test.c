/* Meshes of several nodes: those that come about, and those that end without. */
#include "test.h"

#include "meshes.h"
#include "locus.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

TEST(mesh, connects_every_shard_of_every_node)
{
    CLOSED_BY(close_mesh) struct cluster c;
    open_cluster(&c, 4, 3, NULL);
    start_all(&c);
    await_all(&c);
    check_mesh(&c);
}

TEST(mesh, connects_when_all_know_the_secret)
{
    CLOSED_BY(close_mesh) struct cluster c;
    struct secret s = secret_of("open sesame");
    open_cluster(&c, 4, 3, NULL);
    share_secret(&c, &s);
    start_all(&c);
    await_all(&c);
    check_mesh(&c);
}

TEST(mesh, connects_over_ipv6)
{
    CLOSED_BY(close_mesh) struct cluster c;
    char address[MESH_ADDRESS_MAX];
    int listener;
    if (listen_at("::1", NULL, &listener, address)) SKIP("no IPv6 here");
    close(listener);
    open_cluster(&c, 2, 2, "[::1]");
    CHECK_STR(c.address[0], "[::1]:");
    start_all(&c);
    await_all(&c);
    check_mesh(&c);
}

TEST(mesh, waits_for_nodes_that_come_late)
{
    CLOSED_BY(close_mesh) struct cluster c;
    open_cluster(&c, 4, 2, NULL);
    c.node[0].late_ms = 300;
    c.node[2].late_ms = 100;
    start_all(&c);
    await_all(&c);
    check_mesh(&c);
}

/* Sockets of this process that take connections. */
static int open_listeners(void)
{
    int listeners = 0;
    for (int fd = 0; fd < 1024; fd++) {
        int listens = 0;
        socklen_t bytes = sizeof listens;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0) listeners += listens;
    }
    return listeners;
}

/* (That nobody answers at the address would be too much to ask: its port may be another test's by
 * now.) */
TEST(mesh, lets_nobody_connect_later)
{
    CLOSED_BY(close_mesh) struct cluster c;
    int before = open_listeners();
    open_cluster(&c, 2, 1, NULL);
    CHECK_EQ(open_listeners(), before + 2);
    start_all(&c);
    await_all(&c);
    check_mesh(&c);
    CHECK_EQ(open_listeners(), before);
}

TEST(mesh, leaves_no_descriptor_open_in_200_cycles)
{
    int before = open_descriptors();
    for (int i = 0; i < 200; i++) {
        struct cluster c;
        open_cluster(&c, 3, 2, NULL);
        start_all(&c);
        await_all(&c);
        check_mesh(&c);
        close_mesh(&c);
    }
    CHECK_EQ(open_descriptors(), before);
}

/* ---- those that end without a mesh ---- */

static void check_timed_out(struct node *n, unsigned ms, const char *sentence)
{
    n->config.deadline_ns = now_ns() + ms * UINT64_C(1000000);
    run_node(n);
    CHECK_EQ(n->rc, -ETIMEDOUT);
    CHECK(now_ns() >= n->config.deadline_ns);
    CHECK_STR(n->error, sentence);
    CHECK_STR(n->error, "links after ");
    for (unsigned i = 0; i < n->config.size * n->config.shards; i++) CHECK_EQ(n->fd[i], -1);
}

/* The node gets another address, where nobody listens; nobody else can come to, as long as the
 * socket is open. */
static int stop_listening(struct cluster *c, unsigned node)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(fd, (struct sockaddr *)&a, bytes) == 0 &&
          getsockname(fd, (struct sockaddr *)&a, &bytes) == 0);
    snprintf(c->address[node], sizeof c->address[node], "127.0.0.1:%u", ntohs(a.sin_port));
    close(c->node[node].config.listener);
    return fd;
}

TEST(mesh, names_who_is_missing)
{
    struct cluster c;
    char sentence[256];
    int before = open_descriptors();
    open_cluster(&c, 3, 2, NULL);
    int kept = stop_listening(&c, 0);
    snprintf(sentence, sizeof sentence, "node 0 (%s) has not accepted our links", c.address[0]);
    /* long enough to try, whatever the machine does */
    check_timed_out(&c.node[1], 2000, sentence);
    CHECK_STR(c.node[1].error, "Connection refused");
    CHECK_STR(c.node[1].error, "; 1 more is missing");
    close(kept);

    open_cluster(&c, 2, 2, NULL); /* one that listens and does not answer */
    int silent = c.node[0].config.listener;
    snprintf(sentence, sizeof sentence, "node 0 (%s) has not accepted our links", c.address[0]);
    check_timed_out(&c.node[1], 300, sentence);
    close(silent);

    open_cluster(&c, 2, 2, NULL);
    close(c.node[1].config.listener);
    snprintf(sentence, sizeof sentence, "node 1 (%s) has not connected its links", c.address[1]);
    check_timed_out(&c.node[0], 300, sentence);
    CHECK_EQ(open_descriptors(), before + 1);
    close(c.node[2].config.listener);
}

TEST(mesh, says_now_and_then_whom_it_waits_for)
{
    struct cluster c;
    char text[1024], line[128];
    int before;
    bool cancel = false;
    open_cluster(&c, 2, 1, NULL);
    close(c.node[1].config.listener);
    c.node[0].config.report_ns = 200000000;
    c.node[0].config.cancel = &cancel;
    FILE *file = catch_stderr(&before);
    start_node(&c.node[0]);
    for (int lines = 0; lines < 2; sleep_ms(10)) {
        ssize_t n = pread(fileno(file), text, sizeof text, 0);
        lines = 0;
        for (ssize_t i = 0; i < n; i++) lines += text[i] == '\n';
    }
    __atomic_store_n(&cancel, true, __ATOMIC_RELEASE);
    pthread_join(c.node[0].thread, NULL);
    release_stderr(file, before, text, sizeof text);
    CHECK_EQ(c.node[0].rc, -ECANCELED);
    snprintf(line, sizeof line, "locus: node 1 (%s) has not connected its links after ",
             c.address[1]);
    CHECK_STR(text, line);
    CHECK_STR(strchr(text, '\n') + 1, line); /* again */
}

TEST(mesh, ends_when_it_is_cancelled)
{
    struct cluster c;
    bool cancel = false;
    open_cluster(&c, 2, 1, NULL);
    c.node[0].config.cancel = &cancel;
    start_node(&c.node[0]);
    sleep_ms(50);
    __atomic_store_n(&cancel, true, __ATOMIC_RELEASE);
    pthread_join(c.node[0].thread, NULL);
    CHECK_EQ(c.node[0].rc, -ECANCELED);
    close(c.node[1].config.listener);
}

/* At once, also who only listens, with a secret or without: the others would wait for it. */
TEST(mesh, compares_its_descriptors_with_the_limit_before_it_waits)
{
    struct cluster c;
    struct rlimit limit;
    struct secret secret = secret_of("a secret");
    for (int has_secret = 0; has_secret < 2; has_secret++) {
        open_cluster(&c, 4, 3, NULL);
        if (has_secret) share_secret(&c, &secret);
        CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
        const rlim_t before = limit.rlim_cur;
        limit.rlim_cur = (rlim_t)open_descriptors() + 10; /* of 9 links, 3 rings, 3 to wake them */
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
        run_node(&c.node[0]);
        CHECK_EQ(c.node[0].rc, -EMFILE);
        CHECK_STR(c.node[0].error, "the links to 3 nodes need 9; raise `ulimit -n`, which is");
        limit.rlim_cur = before;
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
        for (unsigned i = 1; i < 4; i++) close(c.node[i].config.listener);
    }
    secret_forget(&secret);
}

TEST(mesh, says_how_many_descriptors_it_needs)
{
    struct cluster c;
    struct rlimit limit;
    open_cluster(&c, 4, 3, NULL);
    getrlimit(RLIMIT_NOFILE, &limit);
    int next = dup(STDERR_FILENO);
    close(next);
    limit.rlim_cur = (rlim_t)next + 4;
    setrlimit(RLIMIT_NOFILE, &limit);
    run_node(&c.node[3]); /* it connects; the others only listen */
    CHECK_EQ(c.node[3].rc, -EMFILE);
    CHECK_STR(c.node[3].error, "the links to 3 nodes need 9; raise `ulimit -n`, which is");
    for (unsigned i = 0; i < 3; i++) close(c.node[i].config.listener);
}
