/* Meshes of several nodes: those that come about, and those that end without. */
#include "meshes.h"

#include "locus.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* And nobody can connect later. */
TEST(mesh, connects_every_shard_of_every_node)
{
    static const struct {
        unsigned size, shards, late_ms[NODES_MAX];
        bool has_secret;
        const char *listen;
    } cases[] = {
        {.size = 4, .shards = 3},
        {.size = 4, .shards = 3, .has_secret = true},
        {.size = 4, .shards = 2, .late_ms = {300, 0, 100}},
        {.size = 2, .shards = 2, .listen = "[::1]"},
    };
    struct secret s = secret_of("open sesame");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLOSED_BY(close_mesh) struct cluster c = {.size = 0};
        char address[ADDRESS_MAX];
        int listener, before = open_listeners();
        if (listen_at(cases[i].listen, RENDEZVOUS, &listener, address)) SKIP("no IPv6 here");
        close(listener);
        open_cluster(&c, cases[i].size, cases[i].shards, cases[i].has_secret ? &s : NULL,
                     cases[i].listen);
        CHECK_EQ(open_listeners(), before + (int)c.size);
        for (unsigned r = 0; r < c.size; r++) c.node[r].late_ms = cases[i].late_ms[r];
        start_from(&c, 0);
        await_mesh(&c);
        CHECK_EQ(open_listeners(), before);
    }
}

/* All others connect to it, whatever the ranks are; who is no member is not waited for, and refused. */
TEST(mesh, one_that_joins_is_connected_to_by_all_members)
{
    enum { SIZE = 4, JOINS = 1, AWAY = 3 };
    struct secret s = secret_of("open sesame");
    for (int has_secret = 0; has_secret < 2; has_secret++) {
        CLOSED_BY(close_mesh) struct cluster c = {.size = 0};
        struct mesh_hello answer, hello = hello_of(AWAY, 0);
        open_cluster(&c, SIZE, 2, has_secret ? &s : NULL, NULL);
        memset(c.side, MESH_NOBODY, sizeof c.side);
        for (unsigned r = 0; r < SIZE; r++) {
            if (r == JOINS || r == AWAY) continue;
            c.side[r][JOINS] = MESH_WE_DO;
            c.side[JOINS][r] = MESH_THEY_DO;
            close(c.node[r].config.listener);
            c.node[r].config.listener = -1;
        }
        start_node(&c.node[JOINS]);
        close(call_and_say(c.address[JOINS], &hello, &answer));
        CHECK_EQ(answer.status, MESH_MISFIT);
        for (unsigned r = 0; r < SIZE; r++)
            if (r != JOINS) start_node(&c.node[r]);
        for (unsigned r = 0; r < SIZE; r++) {
            pthread_join(c.node[r].thread, NULL);
            CHECK_EQ(c.node[r].rc, 0);
            for (unsigned i = 0; i < SIZE * 2; i++) {
                bool is_linked = c.side[r][i / 2] != MESH_NOBODY;
                CHECK_EQ(c.node[r].fd[i] >= 0, is_linked);
                if (is_linked) CHECK_EQ(send(c.node[r].fd[i], &r, sizeof r, 0), sizeof r);
            }
        }
        for (unsigned r = 0; r < SIZE; r++)
            for (unsigned i = 0, from; i < SIZE * 2; i++) {
                if (c.side[r][i / 2] == MESH_NOBODY) continue;
                CHECK_EQ(recv(c.node[r].fd[i], &from, sizeof from, MSG_WAITALL), sizeof from);
                CHECK_EQ(from, i / 2);
            }
    }
}

/* ---- those that end without a mesh ---- */

static void check_timed_out(struct cluster *c, unsigned rank, unsigned ms, unsigned missing,
                            const char *what)
{
    char sentence[256];
    struct node *n = &c->node[rank];
    n->config.deadline_ns = now_ns() + ms * UINT64_C(1000000);
    run_node(n);
    snprintf(sentence, sizeof sentence, "node %u (%s) has not %s", missing, c->address[missing],
             what);
    CHECK_EQ(n->rc, -ETIMEDOUT);
    CHECK(now_ns() >= n->config.deadline_ns);
    CHECK_STR(n->error, sentence);
    CHECK_STR(n->error, "links after ");
    for (unsigned i = 0; i < c->size * c->shards; i++) CHECK_EQ(n->fd[i], -1);
}

TEST(mesh, names_who_is_missing)
{
    struct cluster c;
    int before = open_descriptors();
    open_cluster(&c, 3, 2, NULL, NULL);
    /* Node 0 gets an address where nobody listens; nobody else can come to, as long as the socket
     * is open. */
    close(c.node[0].config.listener);
    struct sockaddr_in a = loopback_at(NULL);
    int kept = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(kept, (struct sockaddr *)&a, sizeof a), 0);
    snprintf(c.address[0], sizeof c.address[0], "127.0.0.1:%u", loopback_port(kept));
    /* long enough to try, whatever the machine does */
    check_timed_out(&c, 1, 2000, 0, "accepted our links");
    CHECK_STR(c.node[1].error, "Connection refused");
    CHECK_STR(c.node[1].error, "; 1 more is missing");
    close(c.node[2].config.listener);
    close(kept);

    open_cluster(&c, 2, 2, NULL, NULL); /* one that listens and does not answer */
    check_timed_out(&c, 1, 300, 0, "accepted our links");
    close(c.node[0].config.listener);

    open_cluster(&c, 2, 2, NULL, NULL);
    close(c.node[1].config.listener);
    check_timed_out(&c, 0, 300, 1, "connected its links");
    CHECK_EQ(open_descriptors(), before);
}

/* And ends when it is cancelled. */
TEST(mesh, says_now_and_then_whom_it_waits_for)
{
    struct cluster c;
    char text[1024], line[128];
    bool cancel = false;
    open_cluster(&c, 2, 1, NULL, NULL);
    close(c.node[1].config.listener);
    snprintf(line, sizeof line, "locus: node 1 (%s) has not connected its links after ",
             c.address[1]);
    c.node[0].config.report_ns = 200000000;
    c.node[0].config.cancel = &cancel;
    struct caught caught = stderr_catch();
    start_node(&c.node[0]);
    for (const char *first = NULL; !first || !strstr(first + 1, line); sleep_ms(10)) {
        stderr_read(&caught, text, sizeof text);
        first = strstr(text, line);
    }
    __atomic_store_n(&cancel, true, __ATOMIC_RELEASE);
    pthread_join(c.node[0].thread, NULL);
    stderr_release(&caught, text, sizeof text);
    CHECK_EQ(c.node[0].rc, -ECANCELED);
}

/* At once, also who only listens, with a secret or without: the others would wait for it. */
TEST(mesh, too_few_descriptors_are_named_before_it_waits)
{
    static const struct {
        unsigned rank;
        bool has_secret;
    } cases[] = {{0, false}, {0, true}, {3, false}};
    struct secret secret = secret_of("a secret");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct cluster c;
        struct rlimit limit;
        open_cluster(&c, 4, 3, cases[k].has_secret ? &secret : NULL, NULL);
        struct node *n = &c.node[cases[k].rank];
        CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
        const rlim_t before = limit.rlim_cur;
        limit.rlim_cur = (rlim_t)open_descriptors() + 10; /* of 9 links, 3 rings, 3 to wake them */
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
        run_node(n);
        CHECK_EQ(n->rc, -EMFILE);
        CHECK_STR(n->error, "the links to 3 nodes need 9; raise `ulimit -n`, which is");
        limit.rlim_cur = before;
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
        for (unsigned i = 0; i < 4; i++)
            if (i != cases[k].rank) close(c.node[i].config.listener);
    }
}
