/* Meshes of several nodes, each a thread with sockets of its own, and of others who connect
 * meanwhile. */
#include "test.h"

#include "locus.h"
#include "membership/late_name.h"
#include "net/mesh.h"
#include "net/mesh_listener.h"
#include "net/secret.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { NODES_MAX = 4, SHARDS_MAX = 3 };
/* Each test is a process: a late knock of one at a port that another has now is refused. */
#define CLUSTER (UINT64_C(0x1234567800000000) + (uint64_t)getpid())
#define RENDEZVOUS "127.0.0.1:7777"

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_ms(unsigned ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

static int open_descriptors(void)
{
    int n = 0;
    DIR *all = opendir("/proc/self/fd");
    CHECK(all);
    while (readdir(all)) n++;
    closedir(all);
    return n;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

struct node {
    struct mesh_config config;
    unsigned late_ms;
    int fd[NODES_MAX * SHARDS_MAX];
    int rc;
    double seconds;
    char error[512];
    pthread_t thread;
};

struct cluster {
    unsigned size, shards;
    char address[NODES_MAX][MESH_ADDRESS_MAX];
    struct node node[NODES_MAX];
};

static int listen_at(const char *listen, const char *rendezvous, int *listener,
                     char address[MESH_ADDRESS_MAX])
{
    const struct mesh_place p = {
        .listen = listen, .rendezvous = rendezvous, .deadline_ns = now_ns() + UINT64_C(1000000000)};
    return mesh_listen(&p, listener, address);
}

static void open_cluster(struct cluster *c, unsigned size, unsigned shards, const char *listen)
{
    *c = (struct cluster){.size = size, .shards = shards};
    for (unsigned i = 0; i < size; i++) {
        struct node *n = &c->node[i];
        n->config = (struct mesh_config){.cluster = CLUSTER,
                                         .rank = i,
                                         .size = size,
                                         .shards = shards,
                                         .address = (const char(*)[MESH_ADDRESS_MAX])c->address,
                                         .deadline_ns = now_ns() + UINT64_C(20000000000)};
        CHECK_EQ(listen_at(listen, RENDEZVOUS, &n->config.listener, c->address[i]), 0);
    }
}

static struct secret secret_of(const char *text)
{
    struct secret s;
    CHECK_EQ(secret_from_text(&s, "a text", text, strlen(text)), 0);
    return s;
}

static void share_secret(struct cluster *c, const struct secret *s)
{
    for (unsigned i = 0; i < c->size; i++) c->node[i].config.secret = s;
}

static void *run_node(void *context)
{
    struct node *n = context;
    uint64_t start = now_ns();
    sleep_ms(n->late_ms);
    n->rc = mesh_connect(&n->config, n->fd);
    n->seconds = (double)(now_ns() - start) * 1e-9;
    if (n->rc) snprintf(n->error, sizeof n->error, "%s", locus_error());
    return NULL;
}

static void start_node(struct node *n)
{
    CHECK(!pthread_create(&n->thread, NULL, run_node, n));
}

static void start_all(struct cluster *c)
{
    for (unsigned i = 0; i < c->size; i++) start_node(&c->node[i]);
}

static void await_all(struct cluster *c)
{
    for (unsigned i = 0; i < c->size; i++) pthread_join(c->node[i].thread, NULL);
}

struct label {
    unsigned from, to, shard;
};

/* Each connection leads from where it should to where it should. */
static void check_mesh(struct cluster *c)
{
    for (unsigned a = 0; a < c->size; a++) {
        if (c->node[a].rc) test_fail(__FILE__, __LINE__, "node %u: %s", a, c->node[a].error);
        for (unsigned b = 0; b < c->size; b++)
            for (unsigned s = 0; s < c->shards; s++) {
                struct label l = {a, b, s};
                int fd = c->node[a].fd[b * c->shards + s];
                if (a == b)
                    CHECK_EQ(fd, -1);
                else
                    CHECK_EQ(send(fd, &l, sizeof l, 0), sizeof l);
            }
    }
    for (unsigned a = 0; a < c->size; a++)
        for (unsigned b = 0; b < c->size; b++)
            for (unsigned s = 0; s < c->shards && a != b; s++) {
                struct label l;
                struct pollfd p = {.fd = c->node[b].fd[a * c->shards + s], .events = POLLIN};
                CHECK_EQ(poll(&p, 1, 20000), 1);
                CHECK_EQ(recv(p.fd, &l, sizeof l, 0), sizeof l);
                CHECK(l.from == a && l.to == b && l.shard == s);
            }
}

static void close_mesh(struct cluster *c)
{
    for (unsigned i = 0; i < c->size; i++)
        for (unsigned k = 0; k < c->size * c->shards && c->node[i].rc == 0; k++)
            if (c->node[i].fd[k] >= 0) close(c->node[i].fd[k]);
}

/* ---- others who connect ---------------------------------------------------------------------- */

static struct sockaddr_in place_of(const char *address)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    at.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
    return at;
}

static int call(const char *address)
{
    struct sockaddr_in at = place_of(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(!connect(fd, (struct sockaddr *)&at, sizeof at));
    return fd;
}

static struct mesh_hello hello_of(unsigned rank, unsigned shard)
{
    return (struct mesh_hello){.magic = MESH_MAGIC,
                               .version = MESH_VERSION,
                               .cluster = CLUSTER,
                               .rank = rank,
                               .shard = shard};
}

/* Says `hello` and returns the connection with the answer; an answer of no magic: it was closed. */
static int call_and_say(const char *address, const struct mesh_hello *hello,
                        struct mesh_hello *answer)
{
    int fd = call(address);
    *answer = (struct mesh_hello){0};
    CHECK_EQ(send(fd, hello, sizeof *hello, MSG_NOSIGNAL), sizeof *hello);
    if (recv(fd, answer, sizeof *answer, MSG_WAITALL) != sizeof *answer) answer->magic = 0;
    return fd;
}

static void check_refused(const char *address, const struct mesh_hello *hello,
                          enum mesh_status status)
{
    struct mesh_hello answer;
    char rest;
    int fd = call_and_say(address, hello, &answer);
    CHECK_EQ(answer.magic, MESH_MAGIC);
    CHECK_EQ(answer.status, status);
    CHECK(answer.cluster == 0); /* it is not told to whoever asks */
    CHECK(recv(fd, &rest, 1, 0) <= 0);
    close(fd);
}

/* ---- meshes ---------------------------------------------------------------------------------- */

TEST(mesh, connects_every_shard_of_every_node)
{
    struct cluster c;
    open_cluster(&c, 4, 3, NULL);
    start_all(&c);
    await_all(&c);
    check_mesh(&c);
    close_mesh(&c);
}

TEST(mesh, connects_when_all_know_the_secret)
{
    struct cluster c;
    struct secret s = secret_of("open sesame");
    open_cluster(&c, 4, 3, NULL);
    share_secret(&c, &s);
    start_all(&c);
    await_all(&c);
    check_mesh(&c);
    close_mesh(&c);
}

TEST(mesh, connects_over_ipv6)
{
    struct cluster c;
    char address[MESH_ADDRESS_MAX];
    int listener;
    if (listen_at("::1", NULL, &listener, address)) SKIP("no IPv6 here");
    close(listener);
    open_cluster(&c, 2, 2, "[::1]");
    CHECK_STR(c.address[0], "[::1]:");
    start_all(&c);
    await_all(&c);
    check_mesh(&c);
    close_mesh(&c);
}

TEST(mesh, waits_for_nodes_that_come_late)
{
    struct cluster c;
    open_cluster(&c, 4, 2, NULL);
    c.node[0].late_ms = 300;
    c.node[2].late_ms = 100;
    start_all(&c);
    await_all(&c);
    check_mesh(&c);
    close_mesh(&c);
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
    struct cluster c;
    int before = open_listeners();
    open_cluster(&c, 2, 1, NULL);
    CHECK_EQ(open_listeners(), before + 2);
    start_all(&c);
    await_all(&c);
    check_mesh(&c);
    CHECK_EQ(open_listeners(), before);
    close_mesh(&c);
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

/* ---- unauthenticated peers ------------------------------------------------------------------- */

TEST(mesh, refuses_who_does_not_belong_and_says_so)
{
    struct cluster c;
    struct mesh_hello hello, answer;
    open_cluster(&c, 3, 2, NULL);
    start_node(&c.node[1]);
    hello = hello_of(2, 0);
    hello.cluster++;
    check_refused(c.address[1], &hello, MESH_OTHER_CLUSTER);
    hello = hello_of(2, 0);
    hello.version++;
    check_refused(c.address[1], &hello, MESH_OTHER_VERSION);
    hello = hello_of(2, 2); /* no such shard */
    check_refused(c.address[1], &hello, MESH_MISFIT);
    hello = hello_of(3, 0); /* no such node */
    check_refused(c.address[1], &hello, MESH_MISFIT);
    hello = hello_of(0, 0); /* not the one to connect */
    check_refused(c.address[1], &hello, MESH_MISFIT);
    hello = hello_of(2, 0);
    hello.magic++;
    close(call_and_say(c.address[1], &hello, &answer));
    CHECK_EQ(answer.magic, 0);

    hello = hello_of(2, 0);
    int fd = call_and_say(c.address[1], &hello, &answer);
    CHECK_EQ(answer.status, MESH_ACCEPTED);
    CHECK(answer.cluster == CLUSTER && answer.rank == 1 && answer.shard == 0);
    check_refused(c.address[1], &hello, MESH_DUPLICATE);
    close(fd); /* gives way to the real one */

    start_node(&c.node[0]);
    start_node(&c.node[2]);
    await_all(&c);
    check_mesh(&c);
    close_mesh(&c);
}

struct crowd {
    const char *address;
    int stop;
};

/* Connects with all that may knock at a port, and keeps what says nothing open. */
static void *run_crowd(void *context)
{
    enum { SILENT = 3 * MESH_UNAUTHENTICATED_MAX };
    const struct crowd *crowd = context;
    static const char request[] =
        "GET / HTTP/1.0\r\n\r\n and more of what nobody asked for, as long as the hello is ...";
    struct mesh_hello stale = hello_of(3, 0);
    struct sockaddr_in at = place_of(crowd->address);
    int silent[SILENT], n = 0;
    stale.cluster = 99;
    for (unsigned i = 0; !__atomic_load_n(&crowd->stop, __ATOMIC_ACQUIRE) && n < SILENT; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        bool is_there = connect(fd, (struct sockaddr *)&at, sizeof at) == 0;
        if (is_there && i % 4 == 0) send(fd, request, sizeof request, MSG_NOSIGNAL);
        if (is_there && i % 4 == 1) send(fd, &stale, sizeof stale, MSG_NOSIGNAL);
        if (is_there && i % 4 == 2) send(fd, &stale, 20, MSG_NOSIGNAL);
        if (is_there && i % 4 >= 2)
            silent[n++] = fd;
        else
            close(fd);
    }
    while (!__atomic_load_n(&crowd->stop, __ATOMIC_ACQUIRE)) sleep_ms(1);
    while (n > 0) close(silent[--n]);
    return NULL;
}

static void connect_in_a_crowd(const struct secret *s)
{
    struct cluster c;
    pthread_t thread[NODES_MAX];
    struct crowd crowd[NODES_MAX] = {0};
    int before = open_descriptors();
    open_cluster(&c, 4, 3, NULL);
    share_secret(&c, s);
    for (unsigned i = 0; i < 4; i++) {
        crowd[i].address = c.address[i];
        c.node[i].late_ms = 50 * i;
        CHECK(!pthread_create(&thread[i], NULL, run_crowd, &crowd[i]));
    }
    start_all(&c);
    await_all(&c);
    for (unsigned i = 0; i < 4; i++) {
        __atomic_store_n(&crowd[i].stop, 1, __ATOMIC_RELEASE);
        pthread_join(thread[i], NULL);
    }
    check_mesh(&c);
    close_mesh(&c);
    CHECK_EQ(open_descriptors(), before);
}

TEST(mesh, connects_in_a_crowd_of_unauthenticated)
{
    connect_in_a_crowd(NULL);
}

TEST(mesh, connects_in_a_crowd_that_does_not_know_the_secret)
{
    struct secret s = secret_of("open sesame");
    connect_in_a_crowd(&s);
}

static bool is_closed_within(int fd, int ms)
{
    char rest;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, ms) == 1 && recv(fd, &rest, 1, 0) <= 0;
}

/* Each gets its time and no more: who says nothing, who says half, who does not answer the
 * challenge. */
TEST(mesh, gives_unauthenticated_a_deadline)
{
    struct cluster c;
    struct secret s = secret_of("open sesame");
    struct mesh_hello hello = hello_of(1, 0), answer;
    int fd[3];
    open_cluster(&c, 2, 1, NULL);
    share_secret(&c, &s);
    start_node(&c.node[0]);
    uint64_t start = now_ns();
    fd[0] = call(c.address[0]);
    fd[1] = call(c.address[0]);
    CHECK_EQ(send(fd[1], &hello, 30, MSG_NOSIGNAL), 30);
    fd[2] = call_and_say(c.address[0], &hello, &answer);
    CHECK_EQ(answer.status, MESH_CHALLENGE);
    for (int i = 0; i < 3; i++) {
        CHECK(is_closed_within(fd[i], 3000 * MESH_UNAUTHENTICATED_S));
        CHECK(now_ns() - start >= (MESH_UNAUTHENTICATED_S - 1) * UINT64_C(1000000000));
        close(fd[i]);
    }
    start_node(&c.node[1]);
    await_all(&c);
    check_mesh(&c);
    close_mesh(&c);
}

/* ---- who does not know the secret ------------------------------------------------------------ */

/* What the node's thread and others print on stderr meanwhile. */
static FILE *catch_stderr(int *before)
{
    FILE *file = tmpfile();
    CHECK(file != NULL);
    *before = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    return file;
}

static void release_stderr(FILE *file, int before, char *text, size_t room)
{
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    text[fread(text, 1, room - 1, file)] = '\0';
    fclose(file);
}

/* A caller that makes its proof by the book, and then spoils it. */
static enum mesh_status call_with_proof(const char *address, const struct secret *s,
                                        struct mesh_hello *proof, bool is_sent)
{
    struct mesh_hello hello = hello_of(1, 0), challenge, answer = {0};
    secret_nonce(hello.proof);
    int fd = call_and_say(address, &hello, &challenge);
    CHECK_EQ(challenge.status, MESH_CHALLENGE);
    const struct secret_claim claim = {.role = SECRET_CALLER,
                                       .prover = 1,
                                       .cluster = CLUSTER,
                                       .prover_nonce = hello.proof,
                                       .verifier_nonce = challenge.proof};
    if (s) {
        *proof = hello_of(1, 0);
        secret_prove(s, &claim, proof->proof);
    }
    if (is_sent) {
        CHECK_EQ(send(fd, proof, sizeof *proof, MSG_NOSIGNAL), sizeof *proof);
        CHECK_EQ(recv(fd, &answer, sizeof answer, MSG_WAITALL), sizeof answer);
    }
    close(fd);
    return (enum mesh_status)answer.status;
}

TEST(mesh, refuses_callers_that_do_not_know_the_secret)
{
    struct cluster c;
    struct secret right = secret_of("open sesame"), wrong = secret_of("open barley");
    struct mesh_hello proof, challenge, hello = hello_of(1, 0);
    char text[512];
    int before;
    open_cluster(&c, 3, 1, NULL); /* node 2 keeps the others waiting */
    share_secret(&c, &right);
    FILE *file = catch_stderr(&before);
    start_node(&c.node[0]);
    CHECK_EQ(call_with_proof(c.address[0], &wrong, &proof, true), MESH_UNPROVEN);
    /* to another challenge than ... */
    call_with_proof(c.address[0], &right, &proof, false);
    /* ... where it is played back */
    CHECK_EQ(call_with_proof(c.address[0], NULL, &proof, true), MESH_UNPROVEN);
    int fd = call_and_say(c.address[0], &hello, &challenge);
    challenge.status = MESH_ACCEPTED; /* its own words, sent back */
    challenge.rank = 1;
    CHECK_EQ(send(fd, &challenge, sizeof challenge, MSG_NOSIGNAL), sizeof challenge);
    CHECK_EQ(recv(fd, &challenge, sizeof challenge, MSG_WAITALL), sizeof challenge);
    CHECK_EQ(challenge.status, MESH_UNPROVEN);
    close(fd);
    proof.shard = 7; /* another than it said first */
    CHECK_EQ(call_with_proof(c.address[0], NULL, &proof, true), MESH_MISFIT);
    start_node(&c.node[1]);
    start_node(&c.node[2]);
    await_all(&c);
    release_stderr(file, before, text, sizeof text);
    CHECK_STR(text, "locus: who connects as node 1 (127.0.0.1:");
    CHECK_STR(text,
              "does not know the cluster's secret; set LOCUS_SECRET to the same on all nodes\n");
    check_mesh(&c);
    close_mesh(&c);
}

/* ---- who answers in place of a node ---------------------------------------------------------- */

static int accept_one(const struct node *n)
{
    struct mesh_hello hello;
    struct pollfd p = {.fd = n->config.listener, .events = POLLIN};
    CHECK_EQ(poll(&p, 1, 20000), 1);
    int fd = accept(n->config.listener, NULL, NULL);
    CHECK_EQ(recv(fd, &hello, sizeof hello, MSG_WAITALL), sizeof hello);
    CHECK(hello.magic == MESH_MAGIC && hello.cluster == CLUSTER && hello.rank == 1);
    return fd;
}

static void answer_and_close(int fd, const void *bytes, size_t n)
{
    CHECK_EQ(send(fd, bytes, n, MSG_NOSIGNAL), n);
    close(fd);
}

/* Node 0's port is in wrong hands for a while. */
TEST(mesh, tries_again_until_the_right_node_answers)
{
    struct cluster c;
    struct mesh_hello answer = hello_of(0, 0);
    open_cluster(&c, 2, 1, NULL);
    start_node(&c.node[1]);
    close(accept_one(&c.node[0]));
    answer_and_close(accept_one(&c.node[0]), "SSH-2.0-x", 9);
    answer.status = MESH_OTHER_CLUSTER;
    answer_and_close(accept_one(&c.node[0]), &answer, sizeof answer);
    answer.status = MESH_DUPLICATE;
    answer_and_close(accept_one(&c.node[0]), &answer, sizeof answer);
    answer = hello_of(1, 0); /* another node than it should be */
    answer_and_close(accept_one(&c.node[0]), &answer, sizeof answer);
    start_node(&c.node[0]);
    await_all(&c);
    check_mesh(&c);
    close_mesh(&c);
}

static void hear_proof(int fd, struct mesh_hello *proof)
{
    CHECK_EQ(recv(fd, proof, sizeof *proof, MSG_WAITALL), sizeof *proof);
    CHECK_EQ(proof->status, MESH_ACCEPTED);
    CHECK_EQ(proof->rank, 1);
}

/* Somebody has node 0's port and does not know the secret: what it hears from the caller is of no
 * use to it. */
TEST(mesh, tries_again_until_who_answers_knows_the_secret)
{
    struct cluster c;
    struct secret s = secret_of("open sesame");
    struct mesh_hello answer = hello_of(0, 0), proof;
    open_cluster(&c, 2, 1, NULL);
    share_secret(&c, &s);
    start_node(&c.node[1]);
    answer_and_close(accept_one(&c.node[0]), &answer, sizeof answer); /* it asks for nothing */
    int fd = accept_one(&c.node[0]);
    answer.status = MESH_CHALLENGE;
    CHECK_EQ(send(fd, &answer, sizeof answer, MSG_NOSIGNAL), sizeof answer);
    hear_proof(fd, &proof);
    proof.rank = 0;
    answer_and_close(fd, &proof, sizeof proof);
    start_node(&c.node[0]);
    await_all(&c);
    check_mesh(&c);
    close_mesh(&c);
}

TEST(mesh, says_that_the_secrets_differ)
{
    struct cluster c;
    struct secret right = secret_of("open sesame"), wrong = secret_of("open barley");
    for (int has_secret = 0; has_secret < 2; has_secret++) {
        open_cluster(&c, 2, 1, NULL);
        c.node[0].config.secret = &right;
        if (has_secret) c.node[1].config.secret = &wrong;
        for (int i = 0; i < 2; i++) c.node[i].config.deadline_ns = now_ns() + UINT64_C(2000000000);
        start_all(&c);
        await_all(&c);
        CHECK_EQ(c.node[0].rc, -ETIMEDOUT);
        CHECK_EQ(c.node[1].rc, has_secret ? -ETIMEDOUT : -EACCES);
        CHECK_STR(c.node[1].error, c.address[0]);
        CHECK_STR(c.node[1].error,
                  has_secret ? "does not know the same secret as this node; set LOCUS_SECRET"
                             : "asks for the cluster's secret, which this node does not know; set");
    }
}

static void check_ends(enum mesh_status status, unsigned version, const char *sentence)
{
    struct cluster c;
    struct mesh_hello answer = hello_of(0, 0);
    answer.status = (uint16_t)status;
    answer.version = (uint16_t)version;
    open_cluster(&c, 2, 1, NULL);
    start_node(&c.node[1]);
    answer_and_close(accept_one(&c.node[0]), &answer, sizeof answer);
    pthread_join(c.node[1].thread, NULL);
    close(c.node[0].config.listener);
    CHECK_EQ(c.node[1].rc, -EPROTO);
    CHECK_STR(c.node[1].error, "node 0 (127.0.0.1:");
    CHECK_STR(c.node[1].error, sentence);
}

TEST(mesh, ends_when_versions_or_clusters_differ)
{
    check_ends(MESH_ACCEPTED, 7,
               "by version 7 of the protocol, this node by 2: run the same version");
    check_ends(MESH_OTHER_VERSION, 7,
               "by version 7 of the protocol, this node by 2: run the same version");
    check_ends(MESH_MISFIT, MESH_VERSION, "refuses shard 0 of node 1");
}

/* ---- those that end without a mesh ----------------------------------------------------------- */

static void check_timed_out(struct node *n, const char *sentence)
{
    n->config.deadline_ns = now_ns() + 800000000;
    run_node(n);
    CHECK_EQ(n->rc, -ETIMEDOUT);
    CHECK(n->seconds >= 0.7);
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
    check_timed_out(&c.node[1], sentence);
    CHECK_STR(c.node[1].error, "Connection refused");
    CHECK_STR(c.node[1].error, "; 1 more is missing");
    close(kept);

    open_cluster(&c, 2, 2, NULL); /* one that listens and does not answer */
    int silent = c.node[0].config.listener;
    snprintf(sentence, sizeof sentence, "node 0 (%s) has not accepted our links", c.address[0]);
    check_timed_out(&c.node[1], sentence);
    close(silent);

    open_cluster(&c, 2, 2, NULL);
    close(c.node[1].config.listener);
    snprintf(sentence, sizeof sentence, "node 1 (%s) has not connected its links", c.address[1]);
    check_timed_out(&c.node[0], sentence);
    CHECK_EQ(open_descriptors(), before + 1);
    close(c.node[2].config.listener);
}

TEST(mesh, says_now_and_then_whom_it_waits_for)
{
    struct cluster c;
    char text[1024], line[128];
    int before;
    open_cluster(&c, 2, 1, NULL);
    close(c.node[1].config.listener);
    c.node[0].config.report_ns = 200000000;
    c.node[0].config.deadline_ns = now_ns() + UINT64_C(1500000000);
    FILE *file = catch_stderr(&before);
    run_node(&c.node[0]);
    release_stderr(file, before, text, sizeof text);
    CHECK_EQ(c.node[0].rc, -ETIMEDOUT);
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

/* ---- addresses ------------------------------------------------------------------------------- */

static void check_listens(const char *listen, const char *rendezvous, const char *host)
{
    char address[MESH_ADDRESS_MAX];
    int listener;
    if (listen_at(listen, rendezvous, &listener, address))
        test_fail(__FILE__, __LINE__, "%s", locus_error());
    CHECK_STR(address, host);
    CHECK(atoi(strrchr(address, ':') + 1) > 0);
    close(listener);
}

TEST(mesh, listens_where_it_is_told_or_where_the_rendezvous_is)
{
    check_listens("127.0.0.1:0", NULL, "127.0.0.1:");
    check_listens("127.0.0.3", NULL, "127.0.0.3:");
    check_listens("localhost:0", NULL, ":");
    check_listens(NULL, "127.0.0.1:7777", "127.0.0.1:");
    check_listens("", "127.0.0.1:7777", "127.0.0.1:");
    check_listens(":0", "127.0.0.1:7777", "127.0.0.1:");
    check_listens("0.0.0.0:0", "127.0.0.1:7777", "127.0.0.1:");
}

TEST(mesh, listens_at_an_interface_that_is_named)
{
    char address[MESH_ADDRESS_MAX];
    int listener;
    check_listens("lo", "127.0.0.1:7777", "127.0.0.1:");
    check_listens("lo:0", NULL, "127.0.0.1:");
    CHECK_EQ(listen_at("lo:http", NULL, &listener, address), -EINVAL);
    CHECK_STR(locus_error(), "\"lo:http\" is not of the form host:port");
    if (listen_at("::1", NULL, &listener, address)) SKIP("no IPv6 here");
    close(listener);
    check_listens("lo", "[::1]:7777", "[::1]:");
}

/* A port of its own that nobody else has just now. */
static unsigned free_port(void)
{
    char address[MESH_ADDRESS_MAX];
    int listener;
    CHECK_EQ(listen_at("127.0.0.1", NULL, &listener, address), 0);
    close(listener);
    return (unsigned)atoi(strrchr(address, ':') + 1);
}

/* A port alone says nothing about where: the route does, and not all interfaces are meant. */
TEST(mesh, listens_by_route_at_a_port_that_is_named)
{
    char text[16], host[64];
    snprintf(text, sizeof text, ":%u", free_port());
    snprintf(host, sizeof host, "127.0.0.1%s", text);
    check_listens(text, RENDEZVOUS, host);
    CHECK(!mesh_is_told_where(text));
    CHECK(!mesh_is_told_where(NULL));
    CHECK(!mesh_is_told_where(""));
    CHECK(mesh_is_told_where("0.0.0.0"));
    CHECK(mesh_is_told_where("[::1]:7777"));
}

static void check_loopback_only(const char *listen, const char *rendezvous, bool may)
{
    char address[MESH_ADDRESS_MAX];
    int listener;
    const struct mesh_place p = {.listen = listen, .rendezvous = rendezvous, .loopback_only = true};
    int rc = mesh_listen(&p, &listener, address);
    if (may && rc) test_fail(__FILE__, __LINE__, "%s", locus_error());
    if (may) {
        close(listener);
        return;
    }
    CHECK_EQ(rc, -EACCES);
    CHECK_EQ(listener, -1);
    CHECK_STR(locus_error(), rendezvous);
    CHECK_STR(
        locus_error(),
        "is not on loopback, and the cluster has no secret: set LOCUS_SECRET to the same on all nodes, "
        "or, where the whole network is trusted, name the address to listen at with LOCUS_LISTEN");
}

TEST(mesh, without_a_secret_stays_on_loopback)
{
    check_loopback_only(NULL, "127.0.0.1:7777", true);
    check_loopback_only(NULL, "127.9.8.7:7777", true);
    check_loopback_only(":0", "localhost:7777", true);
    check_loopback_only("0.0.0.0", "127.0.0.1:7777", true); /* somebody wants it so */
    check_loopback_only(NULL, "192.0.2.1:7777", false);
    check_loopback_only(":0", "192.0.2.1:7777", false);
    check_loopback_only(NULL, "[fd00::1]:7777", false);
    check_loopback_only(NULL, "0.0.0.0:7777", false);
}

TEST(mesh, waits_for_a_name_that_is_not_known_yet)
{
    late_name_fails(2, EAI_AGAIN);
    char address[MESH_ADDRESS_MAX];
    int listener;
    struct mesh_place p = {.rendezvous = LATE_NAME ":7777",
                           .deadline_ns = now_ns() + UINT64_C(60000000000)};
    CHECK_EQ(mesh_listen(&p, &listener, address), 0);
    close(listener);
    CHECK_EQ(late_name_questions(), 3);
    late_name_fails(2, EAI_NONAME); /* as a launcher's that is not published yet */
    CHECK_EQ(mesh_listen(&p, &listener, address), 0);
    close(listener);
    CHECK_EQ(late_name_questions(), 3);
    late_name_fails(1000, EAI_AGAIN);
    p.deadline_ns = now_ns() + 300000000;
    CHECK_EQ(mesh_listen(&p, &listener, address), -EINVAL);
    CHECK_STR(locus_error(), "the rendezvous \"late.invalid:7777\" is not known: ");
    CHECK(late_name_questions() > 1);
}

static void check_does_not_listen(const char *listen, const char *rendezvous, int rc,
                                  const char *sentence)
{
    char address[MESH_ADDRESS_MAX];
    int listener;
    CHECK_EQ(listen_at(listen, rendezvous, &listener, address), rc);
    CHECK_EQ(listener, -1);
    CHECK_STR(locus_error(), sentence);
    if (listen) CHECK_STR(locus_error(), listen);
}

TEST(mesh, says_why_it_cannot_listen)
{
    char address[MESH_ADDRESS_MAX];
    int listener;
    CHECK_EQ(listen_at("127.0.0.1", NULL, &listener, address), 0);
    check_does_not_listen(address, NULL, -EADDRINUSE, "is taken: choose another with LOCUS_LISTEN");
    check_does_not_listen(strrchr(address, ':'), RENDEZVOUS, -EADDRINUSE,
                          "is taken: choose another with LOCUS_LISTEN");
    close(listener);
    check_does_not_listen(
        "203.0.113.7:0", NULL, -EADDRNOTAVAIL,
        "no interface of this machine: set LOCUS_LISTEN to one that does, or to an interface (lo");
    check_does_not_listen("[::1", NULL, -EINVAL, "not of the form host:port");
    check_does_not_listen("[::1]x", NULL, -EINVAL, "not of the form host:port");
    check_does_not_listen("127.0.0.1:http", NULL, -EINVAL,
                          "not of the form host:port, with a port up to 65535");
    check_does_not_listen("127.0.0.1:65536", NULL, -EINVAL, "not of the form host:port");
    check_does_not_listen(":http", RENDEZVOUS, -EINVAL, "not of the form host:port");
    check_does_not_listen("no-such-host.invalid:1", NULL, -EINVAL, "is not known");
    check_does_not_listen("eth77", NULL, -EINVAL,
                          "; set LOCUS_LISTEN to an address of this machine or an interface (lo");
    check_does_not_listen(NULL, "no-such-host.invalid:1", -EINVAL, "is not known");
    check_does_not_listen(NULL, NULL, -EINVAL, "not of the form host:port");
}
