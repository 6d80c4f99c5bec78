/* Nodes are threads of the test's process; those that must die or stop are processes of their own. */
#include "net/rendezvous.h"

#include "net/late_name.h"
#include "net/rendezvous_hello.h"
#include "net/rendezvous_message.h"
#include "net/secret.h"
#include "test.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_BYTES = 1024 };

/* What must be quick may take longer where a sanitizer watches. */
#if defined(LOCUS_TSAN) || defined(LOCUS_ASAN)
enum { PATIENCE = 5 };
#else
enum { PATIENCE = 1 };
#endif

/* ---- nodes ---- */

struct node {
    struct rendezvous_config config;
    char data_address[32];
    struct rendezvous *rendezvous;
    struct rendezvous_cluster cluster;
    int rc;
    char error[TEXT_BYTES];
    double seconds; /* that the last call took */
    int losses, lost_rank;
    char lost_reason[TEXT_BYTES];
    pthread_t thread;
    const char *barrier;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t loss = PTHREAD_COND_INITIALIZER;
static const struct locus_table two_tables[] = {{"users", 1000, 16, 0}, {NULL, 50, 8, 0}};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void sleep_s(double seconds)
{
    struct timespec pause = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&pause, NULL);
}

/* Below the range from which connecting sockets get their ports. */
static int free_port(void)
{
    static int next;
    if (next == 0) next = 10000 + getpid() * 13 % 20000;
    for (;;) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)++next)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int rc = bind(fd, (struct sockaddr *)&a, sizeof a);
        close(fd);
        if (rc == 0) return next;
    }
}

static const char *new_address(void)
{
    static char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%d", free_port());
    return address;
}

static void on_lost(void *context, int rank, const char *reason)
{
    struct node *n = context;
    pthread_mutex_lock(&mutex);
    n->losses++;
    n->lost_rank = rank;
    snprintf(n->lost_reason, sizeof n->lost_reason, "%s", reason);
    pthread_cond_broadcast(&loss);
    pthread_mutex_unlock(&mutex);
}

static void init_node(struct node *n, int rank, int size, const char *address)
{
    *n = (struct node){.barrier = "barrier"};
    snprintf(n->data_address, sizeof n->data_address, "127.0.0.1:%d", 9000 + rank);
    n->config = (struct rendezvous_config){.rank = rank,
                                           .size = size,
                                           .address = address,
                                           .data_address = n->data_address,
                                           .tables = two_tables,
                                           .table_count = 2,
                                           .choice = 2,
                                           .workers = (unsigned)rank + 1,
                                           .join_timeout_s = 20,
                                           .peer_timeout_s = 20,
                                           .lost = on_lost,
                                           .context = n};
}

static void init_nodes(struct node *n, int size, const char *address)
{
    for (int rank = 0; rank < size; rank++) init_node(&n[rank], rank, size, address);
}

static void note_result(struct node *n, int rc, double start_s)
{
    n->rc = rc;
    n->seconds = now_s() - start_s;
    snprintf(n->error, sizeof n->error, "%s", rc ? locus_error() : "");
}

static void *join_node(void *argument)
{
    struct node *n = argument;
    double start_s = now_s();
    note_result(n, rendezvous_join(&n->config, &n->rendezvous, &n->cluster), start_s);
    return NULL;
}

static void *meet_node(void *argument)
{
    struct node *n = argument;
    double start_s = now_s();
    note_result(n, rendezvous_barrier(n->rendezvous, n->barrier), start_s);
    return NULL;
}

static void *leave_node(void *argument)
{
    struct node *n = argument;
    double start_s = now_s();
    note_result(n, rendezvous_leave(n->rendezvous), start_s);
    rendezvous_free(n->rendezvous);
    n->rendezvous = NULL;
    return NULL;
}

static void start(struct node *n, void *(*call)(void *))
{
    CHECK_EQ(pthread_create(&n->thread, NULL, call, n), 0);
}

static void finish(struct node *n)
{
    CHECK_EQ(pthread_join(n->thread, NULL), 0);
}

/* The last one first, so that rank 0 is late. */
static void on_all(struct node *n, int size, void *(*call)(void *))
{
    for (int rank = size - 1; rank >= 0; rank--) start(&n[rank], call);
    for (int rank = 0; rank < size; rank++) finish(&n[rank]);
}

static void check_all(struct node *n, int size, int rc, const char *part)
{
    for (int rank = 0; rank < size; rank++) {
        if (n[rank].rc != rc)
            test_fail(__FILE__, __LINE__, "rank %d: %d, not %d: %s", rank, n[rank].rc, rc, n[rank].error);
        CHECK_STR(n[rank].error, part);
    }
}

static void join_all(struct node *n, int size)
{
    on_all(n, size, join_node);
    check_all(n, size, 0, "");
}

static void leave_all(struct node *n, int size)
{
    on_all(n, size, leave_node);
    check_all(n, size, 0, "");
}

static void await_loss(struct node *n, double limit_s)
{
    double end_s = now_s() + limit_s;
    pthread_mutex_lock(&mutex);
    while (n->losses == 0 && now_s() < end_s) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&loss, &mutex, &until);
    }
    pthread_mutex_unlock(&mutex);
}

static void check_loss(struct node *n, int rank, const char *reason)
{
    pthread_mutex_lock(&mutex);
    CHECK_EQ(n->losses, 1);
    CHECK_EQ(n->lost_rank, rank);
    CHECK_STR(n->lost_reason, reason);
    pthread_mutex_unlock(&mutex);
}

/* ---- children ---- */

/* This program executed anew, because nng may have been used already: Criterion does. The constructor finds in the
 * environment which node it is to be. */
static const char child_variable[] = "LOCUS_RENDEZVOUS_TEST_CHILD";

static pid_t spawn(const char *body, const struct node *n)
{
    char task[128], self[] = "/proc/self/exe", *arguments[] = {self, NULL};
    pid_t child;
    snprintf(task, sizeof task, "%d %s %d %d %g %s", (int)getpid(), body, n->config.rank, n->config.size,
             n->config.peer_timeout_s, n->config.address);
    setenv(child_variable, task, 1);
    CHECK_EQ(posix_spawn(&child, self, NULL, NULL, arguments, environ), 0);
    unsetenv(child_variable);
    return child;
}

static void check_child(pid_t child)
{
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
}

/* One that was stopped and goes on must say that it was itself, and blame nobody else. */
static void expect_to_be_stopped(struct node *n)
{
    await_loss(n, 15);
    CHECK_EQ(n->losses, 1);
    CHECK_EQ(n->lost_rank, n->config.rank);
    CHECK_EQ(rendezvous_leave(n->rendezvous), -ECONNRESET);
    rendezvous_free(n->rendezvous);
    CHECK_EQ(n->losses, 1);
}

static void expect_to_leave(struct node *n)
{
    leave_node(n);
    CHECK_EQ(n->rc, 0);
    CHECK_EQ(n->losses, 0);
}

__attribute__((constructor)) static void be_a_child(void)
{
    struct node n;
    int parent, rank, size;
    double peer_timeout_s;
    char body[32], address[64];
    const char *task = getenv(child_variable);
    if (!task) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CHECK_EQ(sscanf(task, "%d %31s %d %d %lf %63s", &parent, body, &rank, &size, &peer_timeout_s, address), 6);
    if (getppid() != parent) _exit(1);
    init_node(&n, rank, size, address);
    n.config.peer_timeout_s = peer_timeout_s;
    join_node(&n);
    CHECK_EQ(n.rc, 0);
    if (strcmp(body, "wait") == 0) pause();
    if (strcmp(body, "be_stopped") == 0) expect_to_be_stopped(&n);
    if (strcmp(body, "leave") == 0) expect_to_leave(&n);
    _exit(0);
}

/* ---- strangers ---- */

static int port_of(const char *address)
{
    return atoi(strrchr(address, ':') + 1);
}

static struct sockaddr_in loopback(const char *address)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port_of(address)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int try_connect(const char *address)
{
    struct sockaddr_in a = loopback(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0) return fd;
    close(fd);
    return -1;
}

static int connect_to(const char *address)
{
    for (;;) {
        int fd = try_connect(address);
        if (fd >= 0) return fd;
        sleep_s(0.005);
    }
}

static int listen_at(const char *address)
{
    struct sockaddr_in a = loopback(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    CHECK_EQ(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    CHECK_EQ(listen(fd, 16), 0);
    return fd;
}

static void say(int fd, const void *data, size_t bytes)
{
    CHECK_EQ(send(fd, data, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
}

/* Bytes received before the peer ended the connection, which it must. */
static size_t read_to_end(int fd, unsigned char *data, size_t room, int limit_ms)
{
    size_t have = 0;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        CHECK_EQ(poll(&p, 1, limit_ms), 1);
        ssize_t n = recv(fd, data + have, room - have, 0);
        if (n <= 0) break;
        have += (size_t)n;
    }
    close(fd);
    return have;
}

static bool is_cut_off(int fd, int limit_ms)
{
    unsigned char data[256];
    return read_to_end(fd, data, sizeof data, limit_ms) == 0;
}

/* A whole message of a member, to be spoilt. */
static size_t make_hello(const struct rendezvous_config *c, unsigned char *data, size_t room)
{
    struct rendezvous_message *m = rendezvous_hello_write(c, 10000);
    size_t bytes = m->bytes;
    CHECK(bytes <= room);
    memcpy(data, m->data, bytes);
    rendezvous_message_let_go(m);
    return bytes;
}

/* The sentence of the REFUSED that the peer sent before it ended the connection. */
static void read_refusal(int fd, char *sentence, size_t room)
{
    unsigned char data[TEXT_BYTES];
    size_t bytes = 0;
    while (bytes < RENDEZVOUS_HEADER_BYTES || bytes < RENDEZVOUS_HEADER_BYTES + rendezvous_header(data).length) {
        ssize_t n = recv(fd, data + bytes, sizeof data - bytes, 0);
        CHECK(n > 0);
        bytes += (size_t)n;
    }
    struct rendezvous_header header = rendezvous_header(data);
    CHECK_EQ(header.type, RENDEZVOUS_REFUSED);
    struct rendezvous_reader r = rendezvous_reader(data + RENDEZVOUS_HEADER_BYTES, header.length);
    rendezvous_get_u32(&r);
    rendezvous_get_text(&r, sentence, room);
    close(fd);
}

static int entries_of(const char *folder)
{
    int entries = 0;
    DIR *d = opendir(folder);
    while (readdir(d)) entries++;
    closedir(d);
    return entries;
}

/* ---- joining ---- */

TEST(rendezvous, nodes_learn_of_each_other)
{
    struct node n[4];
    init_nodes(n, 4, new_address());
    join_all(n, 4);
    for (int rank = 0; rank < 4; rank++) {
        CHECK(n[rank].cluster.id != 0);
        CHECK(n[rank].cluster.id == n[0].cluster.id);
        CHECK_EQ(n[rank].cluster.shards, 2);
        for (int other = 0; other < 4; other++) {
            CHECK_STR(n[rank].cluster.address[other], n[other].data_address);
            CHECK_EQ(n[rank].cluster.workers[other], other + 1);
        }
    }
    leave_all(n, 4);
    for (int rank = 0; rank < 4; rank++) CHECK_EQ(n[rank].losses, 0);
}

TEST(rendezvous, the_shards_of_rank_0_count_and_others_may_leave_them_to_it)
{
    struct node n[3];
    init_nodes(n, 3, new_address());
    n[0].config.shards = 5;
    n[2].config.shards = 5;
    join_all(n, 3);
    CHECK_EQ(n[1].cluster.shards, 5);
    leave_all(n, 3);
}

TEST(rendezvous, joining_is_quick_whoever_comes_first)
{
    for (int late = 0; late < 4; late++) {
        struct node n[4];
        init_nodes(n, 4, new_address());
        for (int rank = 0; rank < 4; rank++)
            if (rank != late) start(&n[rank], join_node);
        sleep_s(0.15);
        double start_s = now_s();
        start(&n[late], join_node);
        for (int rank = 0; rank < 4; rank++) finish(&n[rank]);
        CHECK(now_s() - start_s < 0.5 * PATIENCE);
        check_all(n, 4, 0, "");
        leave_all(n, 4);
    }
}

TEST(rendezvous, an_ipv6_address_does)
{
    struct node n[2];
    char address[32];
    snprintf(address, sizeof address, "[::1]:%d", free_port());
    init_nodes(n, 2, address);
    n[0].config.join_timeout_s = n[1].config.join_timeout_s = 2;
    on_all(n, 2, join_node);
    if (n[0].rc) SKIP("there is no IPv6 here");
    check_all(n, 2, 0, "");
    leave_all(n, 2);
}

TEST(rendezvous, a_host_name_does)
{
    struct node n[2];
    char address[32];
    snprintf(address, sizeof address, "localhost:%d", free_port());
    init_nodes(n, 2, address);
    join_all(n, 2);
    leave_all(n, 2);
}

TEST(rendezvous, many_tables_do)
{
    enum { TABLES = LOCUS_TABLES_MAX };
    struct node n[2];
    static struct locus_table tables[TABLES];
    static char names[TABLES][200];
    for (int i = 0; i < TABLES; i++) {
        memset(names[i], 'a' + i % 26, sizeof names[i] - 1);
        tables[i] = (struct locus_table){names[i], 1 + (uint64_t)i, 1, 0};
    }
    init_nodes(n, 2, new_address());
    for (int rank = 0; rank < 2; rank++) {
        n[rank].config.tables = tables;
        n[rank].config.table_count = TABLES;
    }
    join_all(n, 2);
    leave_all(n, 2);
}

/* ---- what differs ---- */

/* Both get the same sentence, and both leave. */
static void check_difference(struct node n[2], const char *part)
{
    on_all(n, 2, join_node);
    check_all(n, 2, -EINVAL, part);
    CHECK_STR(n[0].error, n[1].error);
}

TEST(rendezvous, a_node_that_differs_is_told_in_what)
{
    struct node n[2];
    const struct locus_table renamed[] = {{"items", 1000, 16, 0}, {NULL, 50, 8, 0}};
    const struct locus_table resized[] = {{"users", 1000, 16, 0}, {NULL, 51, 8, 0}};
    const struct locus_table lengthened[] = {{"users", 1000, 32, 0}, {NULL, 50, 8, 0}};
    const struct locus_table flagged[] = {{"users", 1000, 16, 0}, {"table1", 50, 8, 1}};

    init_nodes(n, 2, new_address());
    n[1].config.tables = renamed;
    check_difference(n, "rank 1 has table 0 named \"items\", rank 0 has it named \"users\"");
    init_nodes(n, 2, new_address());
    n[1].config.tables = resized;
    check_difference(n, "rank 1 has rows 51 in table 1 (\"table1\"), rank 0 has 50");
    init_nodes(n, 2, new_address());
    n[1].config.tables = lengthened;
    check_difference(n, "rank 1 has length 32 in table 0 (\"users\"), rank 0 has 16");
    init_nodes(n, 2, new_address());
    n[1].config.tables = flagged;
    check_difference(n, "rank 1 has flags 1 in table 1 (\"table1\"), rank 0 has 0");
    init_nodes(n, 2, new_address());
    n[1].config.table_count = 1;
    check_difference(n, "rank 1 has table_count 1, rank 0 has 2");
    init_nodes(n, 2, new_address());
    n[1].config.technique = LOCUS_STATIC;
    check_difference(n, "rank 1 has technique LOCUS_STATIC, rank 0 has LOCUS_ADAPTIVE");
    init_nodes(n, 2, new_address());
    n[1].config.act_immediately = true;
    check_difference(n, "rank 1 has act_immediately true, rank 0 has false");
    init_nodes(n, 2, new_address());
    n[1].config.shards = 4;
    check_difference(n, "rank 1 has shards 4, rank 0 has 2");
    init_nodes(n, 2, new_address());
    n[1].config.size = 3;
    check_difference(n, "rank 1 has size 3, rank 0 has 2: all nodes must be configured alike");
}

TEST(rendezvous, all_who_wait_are_told_that_one_differs)
{
    struct node n[4];
    init_nodes(n, 4, new_address());
    n[3].config.shards = 7;
    for (int rank = 0; rank < 3; rank++) start(&n[rank], join_node);
    sleep_s(0.1);
    start(&n[3], join_node);
    for (int rank = 0; rank < 4; rank++) finish(&n[rank]);
    check_all(n, 4, -EINVAL, "rank 3 has shards 7, rank 0 has 2");
    CHECK(n[0].seconds < 2 * PATIENCE);
}

/* A stranger that speaks as node `n`, and has been let in on return. */
static int join_by_hand(const struct node *n)
{
    unsigned char hello[TEXT_BYTES], welcome[RENDEZVOUS_HEADER_BYTES + 4 + SECRET_PROOF_BYTES];
    size_t bytes = make_hello(&n->config, hello, sizeof hello);
    int fd = connect_to(n->config.address);
    say(fd, hello, bytes);
    CHECK_EQ(recv(fd, welcome, sizeof welcome, MSG_WAITALL), sizeof welcome);
    CHECK_EQ(rendezvous_header(welcome).type, RENDEZVOUS_WELCOME);
    return fd;
}

TEST(rendezvous, a_rank_is_given_once_and_the_first_keeps_it)
{
    struct node n[3], twin;
    init_nodes(n, 3, new_address());
    init_node(&twin, 1, 3, n[0].config.address);
    snprintf(twin.data_address, sizeof twin.data_address, "127.0.0.1:9101");
    start(&n[0], join_node);
    int fd = join_by_hand(&n[1]);
    join_node(&twin);
    CHECK_EQ(twin.rc, -EINVAL);
    CHECK_STR(twin.error,
              "rank 1 of 3 is taken: the node at 127.0.0.1:9001 joined with it, then the one at 127.0.0.1:9101");
    join_node(&n[2]);
    finish(&n[0]);
    check_all(n, 3, 0, "");
    CHECK_STR(n[2].cluster.address[1], "127.0.0.1:9001");
    close(fd);
    leave_node(&n[0]);
    leave_node(&n[2]);
}

static void check_wrong(struct node *n, int rc, const char *part)
{
    join_node(n);
    CHECK_STR(n->error, part);
    CHECK_EQ(n->rc, rc);
    CHECK(n->rendezvous == NULL);
}

TEST(rendezvous, a_wrong_configuration_is_refused_at_once)
{
    struct node n;
    init_node(&n, 4, 4, "127.0.0.1:7777");
    check_wrong(&n, -EINVAL, "rank is 4: must be below size, which is 4");
    init_node(&n, 0, 1, "127.0.0.1:7777");
    check_wrong(&n, -EINVAL, "size is 1: must be 2 to 4096");
    init_node(&n, 1, 2, "127.0.0.1");
    check_wrong(&n, -EINVAL, "\"127.0.0.1\" has no port");
    init_node(&n, 1, 2, "127.0.0.1:70000");
    check_wrong(&n, -EINVAL, "\"127.0.0.1:70000\" has no port from 1 to 65535");
    init_node(&n, 1, 2, "127.0.0.1:http");
    check_wrong(&n, -EINVAL, "\"127.0.0.1:http\" has no port from 1 to 65535");
    init_node(&n, 1, 2, ":7777");
    check_wrong(&n, -EINVAL, "\":7777\" has no host");
    init_node(&n, 1, 2, "::1:7777");
    check_wrong(&n, -EINVAL, "write an IPv6 address in brackets");
    init_node(&n, 1, 2, NULL);
    check_wrong(&n, -EINVAL, "the rendezvous is not given");
    init_node(&n, 1, 2, "127.0.0.1:7777");
    n.config.data_address = "";
    check_wrong(&n, -EINVAL, "the address \"\" of the data port");
    init_node(&n, 1, 2, "127.0.0.1:7777");
    n.config.peer_timeout_s = 0;
    check_wrong(&n, -EINVAL, "peer_timeout_s is 0");
    init_node(&n, 1, 2, "127.0.0.1:7777");
    n.config.workers = 0;
    check_wrong(&n, -EINVAL, "workers is 0");
    init_node(&n, 1, 2, "no-such-host.invalid:7777");
    n.config.join_timeout_s = 0.3;
    check_wrong(&n, -EINVAL, "\"no-such-host.invalid:7777\" is not known: ");
}

TEST(rendezvous, rank_0_says_why_it_cannot_listen)
{
    struct node n;
    init_node(&n, 0, 2, new_address());
    int fd = listen_at(n.config.address);
    double start_s = now_s();
    check_wrong(&n, -EADDRINUSE, n.config.address);
    CHECK_STR(n.error, "the port is taken");
    CHECK(now_s() - start_s < 3 * PATIENCE);
    close(fd);
    init_node(&n, 0, 2, "203.0.113.7:7777");
    check_wrong(&n, -EINVAL, "203.0.113.7:7777: this machine has no such address");
}

TEST(rendezvous, rank_0_waits_for_a_port_that_is_about_to_be_free)
{
    struct node n[2];
    init_nodes(n, 2, new_address());
    int fd = listen_at(n[0].config.address);
    start(&n[0], join_node);
    sleep_s(0.3);
    close(fd);
    start(&n[1], join_node);
    finish(&n[0]);
    finish(&n[1]);
    check_all(n, 2, 0, "");
    leave_all(n, 2);
}

/* ---- who does not come ---- */

TEST(rendezvous, those_who_came_are_told_who_did_not)
{
    struct node n[4];
    char part[TEXT_BYTES];
    init_nodes(n, 4, new_address());
    for (int rank = 0; rank < 4; rank++) n[rank].config.join_timeout_s = 1;
    on_all(n, 3, join_node);
    snprintf(part, sizeof part, "rank 3 of 4 has not joined after 1 s; rendezvous %s", n[0].config.address);
    check_all(n, 3, -ETIMEDOUT, part);
    CHECK(n[0].seconds < 1.5 * PATIENCE);

    on_all(n, 2, join_node);
    check_all(n, 2, -ETIMEDOUT, "ranks 2, 3 of 4 have not joined after 1 s");
    on_all(n, 1, join_node);
    check_all(n, 1, -ETIMEDOUT, "ranks 1 to 3 of 4 have not joined after 1 s; rendezvous");
}

/* The first to lose its patience ends it for all. */
static void check_impatient_member(void)
{
    struct node n[3];
    init_nodes(n, 3, new_address());
    n[1].config.join_timeout_s = 0.8;
    on_all(n, 2, join_node);
    check_all(n, 2, -ETIMEDOUT, "rank 2 of 3 has not joined after 0.8 s");
}

TEST(rendezvous, the_shortest_patience_counts)
{
    check_impatient_member();
}

TEST(rendezvous, a_member_without_rank_0_says_that_nobody_answers)
{
    struct node n;
    char part[TEXT_BYTES];
    init_node(&n, 1, 2, new_address());
    n.config.join_timeout_s = 0.4;
    snprintf(part, sizeof part, "rank 1 of 2 could not join for 0.4 s; rendezvous %s: nobody answers there",
             n.config.address);
    check_wrong(&n, -ETIMEDOUT, part);
    CHECK(n.seconds < 1 * PATIENCE);
}

TEST(rendezvous, something_else_at_the_address_is_recognized)
{
    struct node n;
    static const char http[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
    init_node(&n, 1, 2, new_address());
    int listener = listen_at(n.config.address);
    start(&n, join_node);
    int fd = accept(listener, NULL, NULL);
    say(fd, http, sizeof http - 1);
    finish(&n);
    CHECK_EQ(n.rc, -EPROTO);
    CHECK_STR(n.error, n.config.address);
    CHECK_STR(n.error, "is no rendezvous of locus");
    close(fd);
    close(listener);
}

TEST(rendezvous, a_listener_that_says_nothing_does_not_hold_a_member_longer_than_its_patience)
{
    struct node n;
    init_node(&n, 1, 2, new_address());
    n.config.join_timeout_s = 0.4;
    int listener = listen_at(n.config.address);
    check_wrong(&n, -ETIMEDOUT, "takes the connection, but does not answer");
    CHECK(n.seconds < 1 * PATIENCE);
    close(listener);
}

TEST(rendezvous, a_node_that_goes_while_others_wait_ends_their_waiting)
{
    struct node n[3];
    init_nodes(n, 3, new_address());
    start(&n[0], join_node);
    close(join_by_hand(&n[1]));
    finish(&n[0]);
    check_all(n, 1, -ECONNRESET, "rank 1 of 3 closed the connection before all had joined; rendezvous 127.0.0.1:");
}

TEST(rendezvous, rank_0_that_goes_while_others_wait_ends_their_waiting)
{
    struct node n;
    unsigned char hello[TEXT_BYTES];
    struct rendezvous_message *welcome = rendezvous_message_new(RENDEZVOUS_WELCOME);
    rendezvous_put_u32(welcome, 10000);
    rendezvous_put_bytes(welcome, (unsigned char[SECRET_PROOF_BYTES]){0}, SECRET_PROOF_BYTES);
    welcome = rendezvous_message_done(welcome);
    init_node(&n, 1, 3, new_address());
    int listener = listen_at(n.config.address);
    start(&n, join_node);
    int fd = accept(listener, NULL, NULL);
    CHECK(recv(fd, hello, sizeof hello, 0) > 0);
    say(fd, welcome->data, welcome->bytes);
    close(fd);
    close(listener);
    finish(&n);
    CHECK_EQ(n.rc, -ECONNRESET);
    CHECK_STR(n.error, "rank 0 closed the connection before all had joined; rendezvous 127.0.0.1:");
    rendezvous_message_let_go(welcome);
}

TEST(rendezvous, a_newcomer_waits_until_the_cluster_at_the_address_has_left)
{
    struct node n[2], next[2], impatient;
    init_nodes(n, 2, new_address());
    init_nodes(next, 2, n[0].config.address);
    init_node(&impatient, 1, 2, n[0].config.address);
    impatient.config.join_timeout_s = 1;
    join_all(n, 2);
    check_wrong(&impatient, -ETIMEDOUT, "another cluster, of 2 nodes, has not ended there");
    start(&next[1], join_node);
    sleep_s(0.2);
    leave_all(n, 2);
    start(&next[0], join_node);
    finish(&next[0]);
    finish(&next[1]);
    check_all(next, 2, 0, "");
    CHECK(next[0].cluster.id == next[1].cluster.id);
    CHECK(next[0].cluster.id != n[0].cluster.id);
    leave_all(next, 2);
}

/* ---- other versions ---- */

TEST(rendezvous, a_member_of_another_version_and_rank_0_tell_each_other)
{
    struct node n[2];
    unsigned char hello[TEXT_BYTES];
    char sentence[TEXT_BYTES];
    init_nodes(n, 2, new_address());
    size_t bytes = make_hello(&n[1].config, hello, sizeof hello);
    hello[4] = 9;                         /* the version */
    memset(hello + 20, 0xee, bytes - 20); /* whatever it says behind rank and size */
    start(&n[0], join_node);
    int fd = connect_to(n[0].config.address);
    say(fd, hello, bytes);
    read_refusal(fd, sentence, sizeof sentence);
    finish(&n[0]);
    CHECK_STR(sentence, "rank 1 speaks version 9 of the protocol, rank 0 speaks 2: run the same version");
    CHECK_STR(n[0].error, sentence);
    CHECK_EQ(n[0].rc, -EPROTO);
}

TEST(rendezvous, a_rank_0_of_another_version_is_recognized)
{
    struct node n;
    struct rendezvous_message *welcome = rendezvous_message_done(rendezvous_message_new(RENDEZVOUS_WELCOME));
    init_node(&n, 1, 2, new_address());
    int listener = listen_at(n.config.address);
    start(&n, join_node);
    int fd = accept(listener, NULL, NULL);
    welcome->data[4] = 3;
    say(fd, welcome->data, welcome->bytes);
    finish(&n);
    CHECK_EQ(n.rc, -EPROTO);
    CHECK_STR(n.error, "rank 0 speaks version 3 of the protocol, rank 1 speaks 2");
    rendezvous_message_let_go(welcome);
    close(fd);
    close(listener);
}

/* ---- the secret ---- */

static struct secret secret_of(const char *text)
{
    struct secret s;
    CHECK_EQ(secret_from_text(&s, "a text", text, strlen(text)), 0);
    return s;
}

static void share_secret(struct node *n, int size, const struct secret *s)
{
    for (int rank = 0; rank < size; rank++) n[rank].config.secret = s;
}

/* What is printed on stderr until it is released. */
struct caught {
    FILE *file;
    int before;
};

static struct caught catch_stderr(void)
{
    struct caught c = {.file = tmpfile(), .before = dup(STDERR_FILENO)};
    CHECK(c.file != NULL);
    dup2(fileno(c.file), STDERR_FILENO);
    return c;
}

static void release_stderr(struct caught *c, char *text, size_t room)
{
    dup2(c->before, STDERR_FILENO);
    close(c->before);
    rewind(c->file);
    text[fread(text, 1, room - 1, c->file)] = '\0';
    fclose(c->file);
}

TEST(rendezvous, nodes_that_know_the_secret_join)
{
    struct node n[4];
    struct secret s = secret_of("open sesame");
    init_nodes(n, 4, new_address());
    share_secret(n, 4, &s);
    join_all(n, 4);
    on_all(n, 4, meet_node);
    check_all(n, 4, 0, "");
    leave_all(n, 4);
}

/* `stranger` comes in place of rank 2 and is refused; the others go on waiting, and rank 2 joins in the end. */
static void check_turned_away(struct node n[3], struct node *stranger, int rc, const char *sentence)
{
    char text[TEXT_BYTES];
    struct caught c = catch_stderr();
    start(&n[0], join_node);
    start(&n[1], join_node);
    join_node(stranger);
    join_node(&n[2]);
    finish(&n[0]);
    finish(&n[1]);
    release_stderr(&c, text, sizeof text);
    CHECK_EQ(stranger->rc, rc);
    CHECK_STR(stranger->error, sentence);
    CHECK(stranger->seconds < 3 * PATIENCE);
    check_all(n, 3, 0, "");
    CHECK_STR(text, "locus: refused: ");
    CHECK_STR(text, sentence);
    leave_all(n, 3);
}

TEST(rendezvous, who_does_not_know_the_secret_is_refused_and_the_others_wait_on)
{
    struct node n[3], stranger;
    struct secret right = secret_of("open sesame"), wrong = secret_of("open barley");
    for (int i = 0; i < 2; i++) {
        init_nodes(n, 3, new_address());
        share_secret(n, 3, &right);
        init_node(&stranger, 2, 3, n[0].config.address);
        stranger.config.secret = i ? &wrong : NULL;
        check_turned_away(n, &stranger, -EACCES, "node 2 (127.0.0.1:");
        CHECK_STR(stranger.error, ") does not know the cluster's secret; set LOCUS_SECRET to the same on all nodes");
    }
}

TEST(rendezvous, a_secret_that_rank_0_does_not_have_is_named_on_both_sides)
{
    struct node n[3], stranger;
    struct secret s = secret_of("open sesame");
    init_nodes(n, 3, new_address());
    init_node(&stranger, 2, 3, n[0].config.address);
    stranger.config.secret = &s;
    check_turned_away(
        n, &stranger, -EACCES,
        ") knows a secret, but rank 0 of this cluster has none; set LOCUS_SECRET to the same on all nodes");
}

/* What a stranger claims ends nothing: neither another configuration nor another version. */
TEST(rendezvous, a_stranger_cannot_end_the_joining_of_others)
{
    struct node n[3], stranger;
    struct secret right = secret_of("open sesame"), wrong = secret_of("open barley");
    unsigned char hello[TEXT_BYTES];
    char sentence[TEXT_BYTES];
    init_nodes(n, 3, new_address());
    share_secret(n, 3, &right);
    start(&n[0], join_node);
    size_t bytes = make_hello(&n[1].config, hello, sizeof hello);
    hello[4] = 9; /* the version */
    int fd = connect_to(n[0].config.address);
    say(fd, hello, bytes);
    read_refusal(fd, sentence, sizeof sentence);
    CHECK_STR(sentence, "rank 1 speaks version 9 of the protocol, rank 0 speaks 2");
    init_node(&stranger, 1, 4, n[0].config.address);
    stranger.config.secret = &wrong;
    stranger.config.shards = 77;
    join_node(&stranger);
    CHECK_EQ(stranger.rc, -EACCES);
    start(&n[1], join_node);
    join_node(&n[2]);
    finish(&n[0]);
    finish(&n[1]);
    check_all(n, 3, 0, "");
    leave_all(n, 3);
}

TEST(rendezvous, who_was_refused_is_named_when_nobody_else_comes)
{
    struct node n[2], stranger;
    struct secret s = secret_of("open sesame");
    init_nodes(n, 2, new_address());
    share_secret(n, 2, &s);
    n[0].config.join_timeout_s = 1;
    init_node(&stranger, 1, 2, n[0].config.address);
    start(&n[0], join_node);
    join_node(&stranger);
    CHECK_EQ(stranger.rc, -EACCES);
    finish(&n[0]);
    CHECK_EQ(n[0].rc, -ETIMEDOUT);
    CHECK_STR(n[0].error, "rank 1 of 2 has not joined after 1 s; rendezvous 127.0.0.1:");
    CHECK_STR(n[0].error, "; refused was: node 1 (127.0.0.1:");
    CHECK_STR(n[0].error, "does not know the cluster's secret");
}

/* A message as it came, of the type that is expected. */
static size_t hear(int fd, enum rendezvous_type type, unsigned char *data, size_t room)
{
    CHECK_EQ(recv(fd, data, RENDEZVOUS_HEADER_BYTES, MSG_WAITALL), RENDEZVOUS_HEADER_BYTES);
    struct rendezvous_header header = rendezvous_header(data);
    CHECK_EQ(header.type, type);
    CHECK(RENDEZVOUS_HEADER_BYTES + header.length <= room);
    if (header.length) CHECK_EQ(recv(fd, data + RENDEZVOUS_HEADER_BYTES, header.length, MSG_WAITALL), header.length);
    return RENDEZVOUS_HEADER_BYTES + header.length;
}

/* A stranger's RESPONSE as node `n`, which knows the secret. */
static size_t make_response(const struct node *n, const unsigned char *challenge, unsigned char *data)
{
    unsigned char nonce[SECRET_NONCE_BYTES], proof[SECRET_PROOF_BYTES];
    unsigned char hello[TEXT_BYTES], *body = hello + RENDEZVOUS_HEADER_BYTES;
    size_t bytes = make_hello(&n->config, hello, sizeof hello) - RENDEZVOUS_HEADER_BYTES;
    secret_nonce(nonce);
    const struct secret_claim claim = {.role = SECRET_MEMBER,
                                       .prover = (unsigned)n->config.rank,
                                       .prover_nonce = nonce,
                                       .verifier_nonce = challenge,
                                       .body = body,
                                       .body_bytes = bytes};
    secret_prove(n->config.secret, &claim, proof);
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_RESPONSE);
    rendezvous_put_bytes(m, nonce, sizeof nonce);
    rendezvous_put_bytes(m, proof, sizeof proof);
    rendezvous_put_bytes(m, body, bytes);
    m = rendezvous_message_done(m);
    memcpy(data, m->data, m->bytes);
    bytes = m->bytes;
    rendezvous_message_let_go(m);
    return bytes;
}

/* Connects, says hello and hears the challenge. */
static int be_challenged(const struct node *n, unsigned char challenge[SECRET_NONCE_BYTES])
{
    unsigned char data[TEXT_BYTES];
    int fd = connect_to(n->config.address);
    say(fd, data, make_hello(&n->config, data, sizeof data));
    CHECK_EQ(hear(fd, RENDEZVOUS_CHALLENGE, data, sizeof data), RENDEZVOUS_HEADER_BYTES + SECRET_NONCE_BYTES);
    memcpy(challenge, data + RENDEZVOUS_HEADER_BYTES, SECRET_NONCE_BYTES);
    return fd;
}

TEST(rendezvous, a_response_is_good_for_its_challenge_alone)
{
    struct node n[2];
    struct secret s = secret_of("open sesame");
    unsigned char challenge[SECRET_NONCE_BYTES], response[TEXT_BYTES], welcome[TEXT_BYTES];
    char sentence[TEXT_BYTES];
    init_nodes(n, 2, new_address());
    share_secret(n, 2, &s);
    start(&n[0], join_node);

    int fd = connect_to(n[0].config.address); /* before it was asked */
    say(fd, response, make_response(&n[1], challenge, response));
    CHECK(is_cut_off(fd, 3000));

    fd = be_challenged(&n[1], challenge);
    size_t bytes = make_response(&n[1], challenge, response);
    int other = be_challenged(&n[1], challenge);
    say(other, response, bytes); /* overheard, and played back */
    read_refusal(other, sentence, sizeof sentence);
    CHECK_STR(sentence, "node 1 (127.0.0.1:");
    CHECK_STR(sentence, "does not know the cluster's secret");

    other = be_challenged(&n[1], challenge);
    bytes = make_response(&n[1], challenge, response);
    response[bytes - 1] ^= 1; /* the tables' flags: what it says of itself is vouched for, too */
    say(other, response, bytes);
    read_refusal(other, sentence, sizeof sentence);
    CHECK_STR(sentence, "does not know the cluster's secret");
    close(fd);

    fd = be_challenged(&n[1], challenge);
    say(fd, response, make_response(&n[1], challenge, response));
    CHECK_EQ(hear(fd, RENDEZVOUS_WELCOME, welcome, sizeof welcome), RENDEZVOUS_HEADER_BYTES + 4 + SECRET_PROOF_BYTES);
    const struct secret_claim claim = {.role = SECRET_RENDEZVOUS,
                                       .verifier = 1,
                                       .prover_nonce = challenge,
                                       .verifier_nonce = response + RENDEZVOUS_HEADER_BYTES};
    CHECK(secret_check(&s, &claim, welcome + RENDEZVOUS_HEADER_BYTES + 4));
    finish(&n[0]);
    CHECK_EQ(n[0].rc, 0);
    close(fd);
    leave_node(&n[0]);
}

static void say_message(int fd, struct rendezvous_message *m)
{
    m = rendezvous_message_done(m);
    say(fd, m->data, m->bytes);
    rendezvous_message_let_go(m);
}

static struct rendezvous_message *welcome_with(const unsigned char *proof)
{
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_WELCOME);
    rendezvous_put_u32(m, 10000);
    rendezvous_put_bytes(m, proof, SECRET_PROOF_BYTES);
    return m;
}

/* Something at rank 0's address that speaks the protocol and does not know the secret. */
TEST(rendezvous, a_member_asks_rank_0_for_a_proof_too)
{
    static const unsigned char zeros[SECRET_PROOF_BYTES];
    unsigned char data[TEXT_BYTES];
    struct secret s = secret_of("open sesame");
    for (int is_asking = 0; is_asking < 3; is_asking++) {
        struct node n;
        init_node(&n, 1, 2, new_address());
        if (is_asking < 2) n.config.secret = &s;
        int listener = listen_at(n.config.address);
        start(&n, join_node);
        int fd = accept(listener, NULL, NULL);
        hear(fd, RENDEZVOUS_HELLO, data, sizeof data);
        if (is_asking) {
            struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_CHALLENGE);
            rendezvous_put_bytes(m, zeros, sizeof zeros);
            say_message(fd, m);
        }
        if (is_asking == 1) {
            hear(fd, RENDEZVOUS_RESPONSE, data, sizeof data);
            say_message(fd, welcome_with(data + RENDEZVOUS_HEADER_BYTES + SECRET_NONCE_BYTES)); /* its own proof */
        } else if (!is_asking) {
            say_message(fd, welcome_with(zeros));
        }
        finish(&n);
        CHECK_EQ(n.rc, -EACCES);
        CHECK_STR(n.error, "rank 0, at the rendezvous 127.0.0.1:");
        CHECK_STR(n.error, is_asking < 2
                               ? "does not know the cluster's secret; set LOCUS_SECRET to the same on all nodes"
                               : "asks for the cluster's secret, which this node does not know; set");
        close(fd);
        close(listener);
    }
}

TEST(rendezvous, who_does_not_answer_the_challenge_is_cut_off)
{
    struct node n[2];
    struct secret s = secret_of("open sesame");
    unsigned char challenge[SECRET_NONCE_BYTES];
    init_nodes(n, 2, new_address());
    share_secret(n, 2, &s);
    start(&n[0], join_node);
    int fd = be_challenged(&n[1], challenge);
    CHECK(is_cut_off(fd, 15000));
    join_node(&n[1]);
    finish(&n[0]);
    check_all(n, 2, 0, "");
    leave_all(n, 2);
}

TEST(rendezvous, without_a_secret_rank_0_stays_on_loopback)
{
    struct node n[2];
    init_node(&n[0], 0, 2, "192.0.2.1:7777");
    n[0].config.loopback_only = true;
    check_wrong(&n[0], -EACCES, "192.0.2.1:7777 is not on loopback, and the cluster has no secret: set LOCUS_SECRET");
    init_node(&n[0], 0, 2, "0.0.0.0:7777");
    n[0].config.loopback_only = true;
    check_wrong(&n[0], -EACCES,
                "or, where the whole network is trusted, name the address to listen at with LOCUS_LISTEN");
    init_nodes(n, 2, new_address());
    n[0].config.loopback_only = n[1].config.loopback_only = true;
    join_all(n, 2);
    leave_all(n, 2);
}

/* ---- names and time-outs ---- */

TEST(rendezvous, a_resolver_that_does_not_answer_is_asked_again)
{
    struct node n[2];
    char address[32];
    snprintf(address, sizeof address, LATE_NAME ":%d", free_port());
    init_nodes(n, 2, address);
    late_name_fails(3, EAI_AGAIN);
    join_all(n, 2);
    leave_all(n, 2);
    late_name_fails(1000, EAI_AGAIN);
    n[1].config.join_timeout_s = 0.5;
    check_wrong(&n[1], -EINVAL, "the host of the rendezvous \"late.invalid:");
    CHECK(late_name_questions() > 1);
}

/* Who has much patience speaks often enough for one who has little, and loses a node as early as that one. */
TEST(rendezvous, the_shortest_time_out_is_that_of_all)
{
    struct node n[3];
    init_nodes(n, 3, new_address());
    n[1].config.peer_timeout_s = 1;
    join_all(n, 3);
    for (int rank = 0; rank < 3; rank++) CHECK(n[rank].cluster.peer_timeout_s == 1);
    sleep_s(3);
    on_all(n, 3, meet_node);
    check_all(n, 3, 0, "");
    leave_all(n, 3);
    for (int rank = 0; rank < 3; rank++) CHECK_EQ(n[rank].losses, 0);
}

/* ---- barriers ---- */

enum { MEETINGS = 500, MEMBERS = 4 };
static int arrivals[MEETINGS];

static void *meet_often(void *argument)
{
    struct node *n = argument;
    double start_s = now_s();
    for (int i = 0; i < MEETINGS; i++) {
        char name[32];
        snprintf(name, sizeof name, "meeting %d", i);
        __atomic_fetch_add(&arrivals[i], 1, __ATOMIC_RELAXED);
        CHECK_EQ(rendezvous_barrier(n->rendezvous, name), 0);
        CHECK_EQ(__atomic_load_n(&arrivals[i], __ATOMIC_RELAXED), MEMBERS);
    }
    n->seconds = now_s() - start_s;
    return NULL;
}

TEST(rendezvous, a_barrier_holds_all_until_the_last_has_come)
{
    struct node n[MEMBERS];
    init_nodes(n, MEMBERS, new_address());
    join_all(n, MEMBERS);
    on_all(n, MEMBERS, meet_often);
    printf("a barrier of %d nodes: %.0f us\n", MEMBERS, n[0].seconds / MEETINGS * 1e6);
    leave_all(n, MEMBERS);
}

TEST(rendezvous, different_barriers_do_not_meet)
{
    struct node n[2];
    init_nodes(n, 2, new_address());
    join_all(n, 2);
    n[1].barrier = "epoch";
    start(&n[0], meet_node);
    sleep_s(0.05);
    start(&n[1], meet_node);
    finish(&n[0]);
    finish(&n[1]);
    check_all(n, 2, -EINVAL, "rank 1 came to barrier \"epoch\", rank 0 to barrier \"barrier\"");
    n[1].barrier = "barrier";
    on_all(n, 2, meet_node);
    check_all(n, 2, 0, "");
    leave_all(n, 2);
}

TEST(rendezvous, a_node_that_leaves_counts_as_arrived)
{
    struct node n[3];
    init_nodes(n, 3, new_address());
    join_all(n, 3);
    start(&n[2], leave_node);
    on_all(n, 2, meet_node);
    check_all(n, 2, 0, "");
    on_all(n, 2, leave_node);
    finish(&n[2]);
    check_all(n, 3, 0, "");
}

TEST(rendezvous, an_absent_node_counts_as_arrived_until_it_is_back)
{
    struct node n[3];
    init_nodes(n, 3, new_address());
    join_all(n, 3);
    for (int i = 0; i < 20; i++) {
        start(&n[0], meet_node);
        start(&n[1], meet_node);
        rendezvous_absent(n[2].rendezvous, true);
        finish(&n[0]);
        finish(&n[1]);
        check_all(n, 2, 0, "");
        on_all(n, 2, meet_node);
        check_all(n, 2, 0, "");
        rendezvous_absent(n[2].rendezvous, false);
        start(&n[2], meet_node);
        sleep_s(0.02); /* until rank 0 has heard of it */
        on_all(n, 2, meet_node);
        finish(&n[2]);
        check_all(n, 3, 0, "");
    }
    rendezvous_absent(n[2].rendezvous, true);
    leave_all(n, 3);
}

TEST(rendezvous, who_is_missing_is_said_after_10_s)
{
    struct node n[3], late;
    char text[2 * TEXT_BYTES];
    init_nodes(n, 3, new_address());
    init_node(&late, 1, 2, new_address());
    late.config.join_timeout_s = 10.6;
    join_all(n, 3);
    start(&n[0], meet_node);
    start(&n[1], leave_node);
    start(&late, join_node);
    struct caught caught = catch_stderr();
    sleep_s(11.5);
    release_stderr(&caught, text, sizeof text);
    CHECK_STR(text, "locus: barrier \"barrier\" has waited 10 s for rank 2\n");
    CHECK_STR(text, "locus: leaving the cluster has waited 10 s for ranks 0, 2\n");
    CHECK_STR(text, "locus: rank 1 of 2 could not join for 10 s; rendezvous 127.0.0.1:");
    finish(&late);
    start(&n[2], meet_node);
    finish(&n[0]);
    finish(&n[2]);
    CHECK_EQ(n[0].rc, 0);
    start(&n[0], leave_node);
    leave_node(&n[2]);
    finish(&n[0]);
    finish(&n[1]);
    check_all(n, 3, 0, "");
}

/* ---- loss ---- */

static void check_loss_by_all(struct node *n, int size, int lost, const char *reason, double limit_s)
{
    char error[TEXT_BYTES];
    snprintf(error, sizeof error, "node %d (127.0.0.1:%d) %s", lost, 9000 + lost, reason);
    for (int rank = 0; rank < size; rank++) {
        if (rank == lost) continue;
        await_loss(&n[rank], limit_s);
        check_loss(&n[rank], lost, reason);
        meet_node(&n[rank]);
        CHECK_EQ(n[rank].rc, -ECONNRESET);
        CHECK_STR(n[rank].error, error);
    }
    for (int rank = 0; rank < size; rank++) {
        if (rank == lost) continue;
        leave_node(&n[rank]);
        CHECK_EQ(n[rank].rc, -ECONNRESET);
        CHECK_STR(n[rank].error, error);
        CHECK(n[rank].seconds < 2 * PATIENCE);
        CHECK_EQ(n[rank].losses, 1);
    }
}

/* `rank` is a child; the others are ours and have joined on return. */
static pid_t join_with_child(struct node *n, int size, int rank, const char *body)
{
    pid_t child = spawn(body, &n[rank]);
    for (int other = 0; other < size; other++)
        if (other != rank) start(&n[other], join_node);
    for (int other = 0; other < size; other++)
        if (other != rank) finish(&n[other]);
    check_all(n, size, 0, "");
    sleep_s(0.05);
    return child;
}

static void kill_one(int rank, const char *reason)
{
    struct node n[4];
    init_nodes(n, 4, new_address());
    pid_t child = join_with_child(n, 4, rank, "wait");
    double start_s = now_s();
    kill(child, SIGKILL);
    check_loss_by_all(n, 4, rank, reason, 5);
    CHECK(now_s() - start_s < 3 * PATIENCE);
    waitpid(child, NULL, 0);
}

TEST(rendezvous, all_hear_of_a_killed_member)
{
    kill_one(2, "closed the connection");
}

TEST(rendezvous, all_notice_a_killed_rank_0)
{
    kill_one(0, "closed the connection");
}

TEST(rendezvous, a_waiting_barrier_ends_when_a_member_is_killed)
{
    struct node n[3];
    init_nodes(n, 3, new_address());
    pid_t child = join_with_child(n, 3, 2, "wait");
    start(&n[0], meet_node);
    start(&n[1], leave_node);
    sleep_s(0.1);
    kill(child, SIGKILL);
    finish(&n[0]);
    finish(&n[1]);
    check_all(n, 2, -ECONNRESET, "node 2 (127.0.0.1:9002) closed the connection");
    leave_node(&n[0]);
    waitpid(child, NULL, 0);
}

static void stop_one(int rank)
{
    struct node n[3];
    init_nodes(n, 3, new_address());
    for (int i = 0; i < 3; i++) n[i].config.peer_timeout_s = 0.8;
    pid_t child = join_with_child(n, 3, rank, "be_stopped");
    double start_s = now_s();
    kill(child, SIGSTOP);
    check_loss_by_all(n, 3, rank, "was silent for 0.8 s", 5);
    CHECK(now_s() - start_s < 2.8 * PATIENCE);
    sleep_s(0.5);
    kill(child, SIGCONT);
    check_child(child);
}

TEST(rendezvous, all_hear_of_a_stopped_member_which_blames_itself)
{
    stop_one(1);
}

TEST(rendezvous, all_notice_a_stopped_rank_0_which_blames_itself)
{
    stop_one(0);
}

static void stop_shortly(int rank)
{
    struct node n[3];
    init_nodes(n, 3, new_address());
    for (int i = 0; i < 3; i++) n[i].config.peer_timeout_s = 2;
    pid_t child = join_with_child(n, 3, rank, "leave");
    for (int i = 0; i < 4; i++) {
        kill(child, SIGSTOP);
        sleep_s(0.5);
        kill(child, SIGCONT);
        sleep_s(0.05);
    }
    for (int i = 0; i < 3; i++)
        if (i != rank) start(&n[i], leave_node);
    for (int i = 0; i < 3; i++)
        if (i != rank) finish(&n[i]);
    check_all(n, 3, 0, "");
    check_child(child);
}

TEST(rendezvous, a_short_stop_harms_nobody)
{
    stop_shortly(1);
}

TEST(rendezvous, a_short_stop_of_rank_0_harms_nobody)
{
    stop_shortly(0);
}

TEST(rendezvous, all_are_told_of_a_reported_loss)
{
    struct node n[4];
    init_nodes(n, 4, new_address());
    join_all(n, 4);
    start(&n[0], meet_node);
    sleep_s(0.05);
    rendezvous_report_lost(n[3].rendezvous, 2, "sent a frame larger than agreed");
    await_loss(&n[1], 5);
    rendezvous_report_lost(n[1].rendezvous, 3, "closed the connection");
    finish(&n[0]);
    CHECK_STR(n[0].error, "node 2 (127.0.0.1:9002) sent a frame larger than agreed");
    for (int rank = 0; rank < 4; rank++) {
        await_loss(&n[rank], 5);
        check_loss(&n[rank], 2, "sent a frame larger than agreed");
    }
    on_all(n, 4, leave_node);
    check_all(n, 4, -ECONNRESET, "node 2 (127.0.0.1:9002) sent a frame larger than agreed");
}

/* The reporter does not become the culprit by leaving at once. */
TEST(rendezvous, who_reports_and_leaves_is_not_blamed)
{
    for (int i = 0; i < 20; i++) {
        struct node n[3];
        init_nodes(n, 3, new_address());
        join_all(n, 3);
        rendezvous_report_lost(n[1].rendezvous, 2, "went mad");
        if (i % 2) {
            leave_node(&n[1]);
            CHECK_EQ(n[1].rc, -ECONNRESET);
        } else {
            rendezvous_free(n[1].rendezvous);
        }
        await_loss(&n[0], 5);
        await_loss(&n[2], 5);
        leave_node(&n[2]);
        leave_node(&n[0]);
        for (int rank = 0; rank < 3; rank++) check_loss(&n[rank], 2, "went mad");
    }
}

TEST(rendezvous, a_node_that_is_freed_without_leaving_is_lost)
{
    struct node n[3];
    init_nodes(n, 3, new_address());
    join_all(n, 3);
    rendezvous_free(n[2].rendezvous);
    await_loss(&n[0], 5);
    await_loss(&n[1], 5);
    check_loss(&n[0], 2, "closed the connection");
    check_loss(&n[1], 2, "closed the connection");
    leave_node(&n[0]);
    leave_node(&n[1]);
    CHECK_EQ(n[2].losses, 0);
}

/* Rank 0 is gone right after it has told of a loss: the others must have heard it. */
TEST(rendezvous, the_first_loss_is_heard_although_rank_0_leaves_at_once)
{
    for (int i = 0; i < 20; i++) {
        struct node n[4];
        init_nodes(n, 4, new_address());
        join_all(n, 4);
        rendezvous_free(n[3].rendezvous);
        await_loss(&n[0], 5);
        leave_node(&n[0]);
        for (int rank = 1; rank < 3; rank++) {
            await_loss(&n[rank], 5);
            check_loss(&n[rank], 3, "closed the connection");
            leave_node(&n[rank]);
        }
    }
}

/* ---- strangers ---- */

static const char garbage[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 not a word of locus in this\r\n\r\n";

static void bother(const char *address)
{
    unsigned char hello[TEXT_BYTES];
    struct node n;
    init_node(&n, 1, 2, address);
    size_t bytes = make_hello(&n.config, hello, sizeof hello);

    int fd = connect_to(address);
    say(fd, garbage, sizeof garbage);
    CHECK(is_cut_off(fd, 3000));

    fd = connect_to(address);
    hello[11] = 0x7f; /* as if the body had 2 GB */
    say(fd, hello, bytes);
    CHECK(is_cut_off(fd, 3000));
    hello[11] = 0;

    fd = connect_to(address);
    hello[6] = RENDEZVOUS_LEAVE; /* before it said who it is */
    say(fd, hello, bytes);
    CHECK(is_cut_off(fd, 3000));
    hello[6] = RENDEZVOUS_HELLO;

    fd = connect_to(address);
    hello[8]--; /* a body one byte too short */
    say(fd, hello, bytes - 1);
    CHECK(is_cut_off(fd, 3000));
}

TEST(rendezvous, garbage_ends_its_own_connection_and_nothing_else)
{
    struct node n[3];
    init_nodes(n, 3, new_address());
    start(&n[0], join_node);
    bother(n[0].config.address);
    start(&n[1], join_node);
    bother(n[0].config.address);
    start(&n[2], join_node);
    for (int rank = 0; rank < 3; rank++) finish(&n[rank]);
    check_all(n, 3, 0, "");
    bother(n[0].config.address);
    on_all(n, 3, meet_node);
    check_all(n, 3, 0, "");
    leave_all(n, 3);
    for (int rank = 0; rank < 3; rank++) CHECK_EQ(n[rank].losses, 0);
}

/* Every hello that was cut or has a byte changed is refused or passes as one that differs; nothing breaks. */
TEST(rendezvous, a_spoilt_hello_breaks_nothing)
{
    unsigned char hello[TEXT_BYTES];
    struct rendezvous_hello read;
    struct node n;
    init_node(&n, 1, 2, "127.0.0.1:7777");
    size_t bytes = make_hello(&n.config, hello, sizeof hello) - RENDEZVOUS_HEADER_BYTES;
    unsigned char *body = malloc(bytes);
    for (size_t cut = 0; cut < bytes; cut++) {
        unsigned char *part = malloc(cut + 1);
        memcpy(part, hello + RENDEZVOUS_HEADER_BYTES, cut);
        CHECK(!rendezvous_hello_read(&read, part, cut));
        free(part);
    }
    for (size_t i = 0; i < bytes; i++) {
        for (unsigned value = 0; value < 256; value += 51) {
            memcpy(body, hello + RENDEZVOUS_HEADER_BYTES, bytes);
            body[i] = (unsigned char)value;
            rendezvous_hello_read(&read, body, bytes);
        }
    }
    free(body);
}

enum { SILENT = 150 };

TEST(rendezvous, silent_and_slow_connections_keep_nobody_out)
{
    struct node n[3];
    int silent[SILENT];
    unsigned char hello[TEXT_BYTES];
    init_nodes(n, 3, new_address());
    make_hello(&n[1].config, hello, sizeof hello);
    start(&n[0], join_node);
    for (int i = 0; i < SILENT; i++) {
        silent[i] = connect_to(n[0].config.address);
        if (i % 2) send(silent[i], hello, 5 + (size_t)i % 20, MSG_NOSIGNAL);
    }
    double start_s = now_s();
    start(&n[1], join_node);
    start(&n[2], join_node);
    for (int rank = 0; rank < 3; rank++) finish(&n[rank]);
    check_all(n, 3, 0, "");
    CHECK(now_s() - start_s < 1 * PATIENCE);
    on_all(n, 3, meet_node);
    check_all(n, 3, 0, "");
    CHECK(is_cut_off(silent[0], 2000));          /* others took its place */
    CHECK(is_cut_off(silent[SILENT - 1], 7000)); /* its time was over */
    leave_all(n, 3);
    for (int i = 1; i < SILENT - 1; i++) close(silent[i]);
}

/* A member's messages are checked like a stranger's; what it breaks is its own place. */
TEST(rendezvous, a_member_that_sends_nonsense_is_lost)
{
    struct node n[2];
    init_nodes(n, 2, new_address());
    start(&n[0], join_node);
    int fd = join_by_hand(&n[1]);
    finish(&n[0]);
    CHECK_EQ(n[0].rc, 0);
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_REPORT);
    rendezvous_put_u32(m, 77);
    rendezvous_put_text(m, "there is no such rank");
    m = rendezvous_message_done(m);
    say(fd, m->data, m->bytes);
    await_loss(&n[0], 5);
    check_loss(&n[0], 1, "sent a message that makes no sense");
    rendezvous_message_let_go(m);
    leave_node(&n[0]);
    close(fd);
}

/* ---- again and again ---- */

enum { CYCLES = 300 };

static void *join_and_leave_often(void *argument)
{
    struct node *n = argument;
    int first = n->config.rank;
    for (int i = 0; i < CYCLES; i++) {
        n->config.rank = (first + i) % n->config.size; /* rank 0 goes round */
        n->rc = rendezvous_join(&n->config, &n->rendezvous, &n->cluster);
        if (n->rc) test_fail(__FILE__, __LINE__, "cycle %d, rank %d: %s", i, n->config.rank, locus_error());
        CHECK_EQ(rendezvous_leave(n->rendezvous), 0);
        rendezvous_free(n->rendezvous);
    }
    return NULL;
}

TEST(rendezvous, clusters_follow_each_other_at_one_address)
{
    struct node n[3];
    init_nodes(n, 3, new_address());
    join_all(n, 3); /* nng's threads and descriptors stay */
    leave_all(n, 3);
    sleep_s(0.1);
    int threads = entries_of("/proc/self/task"), descriptors = entries_of("/proc/self/fd");
    double start_s = now_s();
    on_all(n, 3, join_and_leave_often);
    printf("a cluster of 3: %.1f ms\n", (now_s() - start_s) / CYCLES * 1e3);
    sleep_s(0.2); /* nng closes descriptors on a thread of its own */
    CHECK_EQ(entries_of("/proc/self/task"), threads);
    CHECK_EQ(entries_of("/proc/self/fd"), descriptors);
    for (int rank = 0; rank < 3; rank++) CHECK_EQ(n[rank].losses, 0);
}
