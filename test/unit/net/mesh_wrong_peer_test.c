/* Who answers in place of a node of the mesh. */
#include "test.h"

#include "meshes.h"
#include "locus.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

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
TEST(mesh_wrong_peer, tries_again_until_the_right_node_answers)
{
    CLOSED_BY(close_mesh) struct cluster c;
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
}

static void hear_proof(int fd, struct mesh_hello *proof)
{
    CHECK_EQ(recv(fd, proof, sizeof *proof, MSG_WAITALL), sizeof *proof);
    CHECK_EQ(proof->status, MESH_ACCEPTED);
    CHECK_EQ(proof->rank, 1);
}

/* Somebody has node 0's port and does not know the secret: what it hears from the caller is of no
 * use to it. */
TEST(mesh_wrong_peer, tries_again_until_who_answers_knows_the_secret)
{
    CLOSED_BY(close_mesh) struct cluster c;
    struct secret s = secret_of("open sesame");
    struct mesh_hello answer = hello_of(0, 0), proof;
    open_cluster(&c, 2, 1, NULL);
    share_secret(&c, &s);
    start_node(&c.node[1]);
    answer_and_close(accept_one(&c.node[0]), &answer, sizeof answer); /* it asks for nothing */
    answer.status = MESH_MISFIT;
    answer_and_close(accept_one(&c.node[0]), &answer, sizeof answer);
    answer.version = 7;
    answer.status = MESH_OTHER_VERSION;
    answer_and_close(accept_one(&c.node[0]), &answer, sizeof answer);
    answer = hello_of(0, 0);
    int fd = accept_one(&c.node[0]);
    answer.status = MESH_CHALLENGE;
    CHECK_EQ(send(fd, &answer, sizeof answer, MSG_NOSIGNAL), sizeof answer);
    hear_proof(fd, &proof);
    proof.rank = 0;
    answer_and_close(fd, &proof, sizeof proof);
    start_node(&c.node[0]);
    await_all(&c);
    check_mesh(&c);
}

TEST(mesh_wrong_peer, says_that_the_secrets_differ)
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

TEST(mesh_wrong_peer, ends_when_versions_or_clusters_differ)
{
    check_ends(MESH_ACCEPTED, 7,
               "by version 7 of the protocol, this node by 2: run the same version");
    check_ends(MESH_OTHER_VERSION, 7,
               "by version 7 of the protocol, this node by 2: run the same version");
    check_ends(MESH_MISFIT, MESH_VERSION, "refuses shard 0 of node 1");
}
