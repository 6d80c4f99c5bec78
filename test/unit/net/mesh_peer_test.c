/* Others at the ports of a mesh: who connects and does not belong, says nothing, or does not know
 * the secret, and who answers in place of a node. A crowd of them: test/cluster/hostile. */
#include "meshes.h"

#include "locus.h"
#include "net/secret.h"
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- who connects ---- */

static void check_answer(const char *address, const struct mesh_hello *hello,
                         enum mesh_status status, const char *what)
{
    struct mesh_hello answer;
    int fd = call_and_say(address, hello, &answer);
    if (answer.magic != MESH_MAGIC || answer.status != status)
        test_fail(__FILE__, __LINE__, "%s: answered %d", what, answer.status);
    CHECK(answer.cluster == 0); /* it is not told to whoever asks */
    CHECK(loopback_is_ended(fd, 60000));
    close(fd);
}

TEST(mesh_peer, caller_that_does_not_belong_is_refused_and_told_why)
{
    static const struct {
        const char *what;
        struct mesh_hello change; /* added to that of node 2 */
        enum mesh_status status;
    } cases[] = {
        {"another cluster", {.cluster = 1}, MESH_OTHER_CLUSTER},
        {"another version", {.version = 1}, MESH_OTHER_VERSION},
        {"no such shard", {.shard = 2}, MESH_MISFIT},
        {"no such node", {.rank = 1}, MESH_MISFIT},
        {"not the one to connect", {.rank = (uint32_t)-2}, MESH_MISFIT},
    };
    CLOSED_BY(close_mesh) struct cluster c;
    struct mesh_hello hello = hello_of(2, 0), answer;
    open_cluster(&c, 3, 2, NULL, NULL);
    start_node(&c.node[1]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mesh_hello other = hello;
        other.cluster += cases[i].change.cluster;
        other.version = (uint16_t)(other.version + cases[i].change.version);
        other.shard += cases[i].change.shard;
        other.rank += cases[i].change.rank;
        check_answer(c.address[1], &other, cases[i].status, cases[i].what);
    }
    hello.magic++;
    close(call_and_say(c.address[1], &hello, &answer));
    CHECK_EQ(answer.magic, 0);

    hello = hello_of(2, 0);
    int fd = call_and_say(c.address[1], &hello, &answer);
    CHECK_EQ(answer.status, MESH_ACCEPTED);
    CHECK(answer.cluster == CLUSTER && answer.rank == 1 && answer.shard == 0);
    check_answer(c.address[1], &hello, MESH_DUPLICATE, "once more");
    close(fd); /* gives way to the real one */
    start_node(&c.node[2]);
    /* Had node 1 all others before, it would stop listening with the one that ended. */
    do {
        sleep_ms(1);
        close(call_and_say(c.address[1], &hello, &answer));
    } while (answer.status == MESH_ACCEPTED);
    CHECK_EQ(answer.status, MESH_DUPLICATE);
    start_node(&c.node[0]);
    await_mesh(&c);
}

/* Each gets its time and no more: who says nothing, who says half, who does not answer the
 * challenge. */
TEST(mesh_peer, caller_that_proves_nothing_is_cut_off_at_its_deadline)
{
    CLOSED_BY(close_mesh) struct cluster c;
    struct secret s = secret_of("open sesame");
    struct mesh_hello hello = hello_of(1, 0), answer;
    open_cluster(&c, 2, 1, &s, NULL);
    start_node(&c.node[0]);
    uint64_t start = now_ns();
    int fd[3] = {loopback_connect(c.address[0]), loopback_connect(c.address[0])};
    CHECK_EQ(send(fd[1], &hello, 30, MSG_NOSIGNAL), 30);
    fd[2] = call_and_say(c.address[0], &hello, &answer);
    CHECK_EQ(answer.status, MESH_CHALLENGE);
    for (int i = 0; i < 3; i++) {
        CHECK(loopback_is_ended(fd[i], 60000));
        CHECK(now_ns() - start >= (PROVING_S - 1) * SECOND);
        close(fd[i]);
    }
    start_node(&c.node[1]);
    await_mesh(&c);
}

/* A caller that makes its proof by the book, and then spoils it. */
static enum mesh_status call_with_proof(const char *address, const struct secret *s,
                                        struct mesh_hello *proof, bool is_sent)
{
    struct mesh_hello hello = hello_of(1, 0), challenge, answer = {0};
    secret_nonce(hello.proof);
    int fd = call_and_say(address, &hello, &challenge);
    CHECK_EQ(challenge.status, MESH_CHALLENGE);
    struct secret_talk talk = {.our_rank = 1, .cluster = CLUSTER};
    memcpy(talk.our_nonce, hello.proof, sizeof talk.our_nonce);
    memcpy(talk.their_nonce, challenge.proof, sizeof talk.their_nonce);
    if (s) {
        *proof = hello_of(1, 0);
        secret_answer(s, &talk, SECRET_CALLER, NULL, 0, proof->proof);
    }
    if (is_sent) {
        CHECK_EQ(send(fd, proof, sizeof *proof, MSG_NOSIGNAL), sizeof *proof);
        CHECK_EQ(recv(fd, &answer, sizeof answer, MSG_WAITALL), sizeof answer);
    }
    close(fd);
    return (enum mesh_status)answer.status;
}

TEST(mesh_peer, caller_that_does_not_know_the_secret_is_refused)
{
    CLOSED_BY(close_mesh) struct cluster c;
    struct secret right = secret_of("open sesame"), wrong = secret_of("open barley");
    struct mesh_hello proof, challenge, hello = hello_of(1, 0);
    char text[512];
    open_cluster(&c, 3, 1, &right, NULL); /* node 2 keeps the others waiting */
    struct caught caught = stderr_catch();
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
    start_from(&c, 1);
    await_mesh(&c);
    stderr_release(&caught, text, sizeof text);
    CHECK_STR(text, "locus: who connects as node 1 (127.0.0.1:");
    CHECK_STR(text,
              "does not know the cluster's secret; set LOCUS_SECRET to the same on all nodes\n");
}

/* ---- who answers ---- */

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

/* Node 0's port is in wrong hands for a while: node 1 tries again until the right one answers. */
static void check_tries_again(const struct mesh_hello *answer, size_t count, const struct secret *s,
                              void (*last)(int fd))
{
    CLOSED_BY(close_mesh) struct cluster c;
    open_cluster(&c, 2, 1, s, NULL);
    start_node(&c.node[1]);
    for (size_t i = 0; i < count; i++)
        answer_and_close(accept_one(&c.node[0]), &answer[i], sizeof *answer);
    last(accept_one(&c.node[0]));
    start_node(&c.node[0]);
    await_mesh(&c);
}

static void speak_otherwise(int fd)
{
    answer_and_close(fd, "SSH-2.0-x", 9);
}

/* What it hears from the caller is of no use to it. */
static void challenge_and_send_back(int fd)
{
    struct mesh_hello answer = hello_of(0, 0), proof;
    answer.status = MESH_CHALLENGE;
    CHECK_EQ(send(fd, &answer, sizeof answer, MSG_NOSIGNAL), sizeof answer);
    CHECK_EQ(recv(fd, &proof, sizeof proof, MSG_WAITALL), sizeof proof);
    CHECK(proof.status == MESH_ACCEPTED && proof.rank == 1);
    proof.rank = 0;
    answer_and_close(fd, &proof, sizeof proof);
}

TEST(mesh_peer, wrong_answer_is_tried_again)
{
    struct secret s = secret_of("open sesame");
    struct mesh_hello answer[4];
    for (int i = 0; i < 4; i++) answer[i] = hello_of(0, 0);
    answer[0].magic = 0;
    answer[1].status = MESH_OTHER_CLUSTER;
    answer[2].status = MESH_DUPLICATE;
    answer[3].rank = 1; /* another node than it should be */
    check_tries_again(answer, 4, NULL, speak_otherwise);
    answer[0] = hello_of(0, 0); /* it asks for nothing */
    answer[1].status = answer[2].status = MESH_MISFIT;
    answer[2].version = 7;
    answer[2].status = MESH_OTHER_VERSION;
    check_tries_again(answer, 3, &s, challenge_and_send_back);
}

TEST(mesh_peer, secrets_that_differ_are_named)
{
    struct secret right = secret_of("open sesame"), wrong = secret_of("open barley");
    for (int has_secret = 0; has_secret < 2; has_secret++) {
        struct cluster c;
        open_cluster(&c, 2, 1, &right, NULL);
        c.node[1].config.secret = has_secret ? &wrong : NULL;
        for (int i = 0; i < 2; i++) c.node[i].config.deadline_ns = now_ns() + 2 * SECOND;
        start_from(&c, 0);
        for (int i = 0; i < 2; i++) pthread_join(c.node[i].thread, NULL);
        CHECK_EQ(c.node[0].rc, -ETIMEDOUT);
        CHECK_EQ(c.node[1].rc, has_secret ? -ETIMEDOUT : -EACCES);
        CHECK_STR(c.node[1].error, c.address[0]);
        CHECK_STR(c.node[1].error,
                  has_secret ? "does not know the same secret as this node; set LOCUS_SECRET"
                             : "asks for the cluster's secret, which this node does not know; set");
    }
}

TEST(mesh_peer, versions_or_clusters_that_differ_end_it)
{
    static const struct {
        enum mesh_status status;
        unsigned version;
        const char *sentence;
    } cases[] = {
        {MESH_ACCEPTED, 7, "by version 7 of the protocol, this node by 2: run the same version"},
        {MESH_OTHER_VERSION, 7, "by version 7 of the protocol, this node by 2: run the same"},
        {MESH_MISFIT, MESH_VERSION, "refuses shard 0 of node 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cluster c;
        struct mesh_hello answer = hello_of(0, 0);
        answer.status = (uint16_t)cases[i].status;
        answer.version = (uint16_t)cases[i].version;
        open_cluster(&c, 2, 1, NULL, NULL);
        start_node(&c.node[1]);
        answer_and_close(accept_one(&c.node[0]), &answer, sizeof answer);
        pthread_join(c.node[1].thread, NULL);
        close(c.node[0].config.listener);
        CHECK_EQ(c.node[1].rc, -EPROTO);
        CHECK_STR(c.node[1].error, "node 0 (127.0.0.1:");
        CHECK_STR(c.node[1].error, cases[i].sentence);
    }
}
