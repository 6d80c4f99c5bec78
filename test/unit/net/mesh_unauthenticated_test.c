/* Others who connect to the nodes of a mesh: who does not belong, says nothing, or does not know
 * the secret. */
#include "test.h"

#include "meshes.h"
#include "net/strangers.h"
#include "locus.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* Until the node at `address` has the real link. Had it all others before, it would stop listening
 * with the one that ended. */
static void await_real(const char *address, const struct mesh_hello *hello)
{
    struct mesh_hello answer;
    do {
        sleep_ms(1);
        close(call_and_say(address, hello, &answer));
    } while (answer.status == MESH_ACCEPTED);
    CHECK_EQ(answer.status, MESH_DUPLICATE);
}

TEST(mesh_unauthenticated, refuses_who_does_not_belong_and_says_so)
{
    CLOSED_BY(close_mesh) struct cluster c;
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

    start_node(&c.node[2]);
    await_real(c.address[1], &hello);
    start_node(&c.node[0]);
    await_all(&c);
    check_mesh(&c);
}

struct crowd {
    const char *address;
    int stop;
};

/* Connects with all that may knock at a port, and keeps what says nothing open. */
static void *run_crowd(void *context)
{
    enum { SILENT = 3 * STRANGERS_MAX };
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

TEST(mesh_unauthenticated, connects_in_a_crowd_of_unauthenticated)
{
    connect_in_a_crowd(NULL);
}

TEST(mesh_unauthenticated, connects_in_a_crowd_that_does_not_know_the_secret)
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
TEST(mesh_unauthenticated, gives_unauthenticated_a_deadline)
{
    CLOSED_BY(close_mesh) struct cluster c;
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
        CHECK(is_closed_within(fd[i], 60000));
        CHECK(now_ns() - start >= (STRANGERS_S - 1) * UINT64_C(1000000000));
        close(fd[i]);
    }
    start_node(&c.node[1]);
    await_all(&c);
    check_mesh(&c);
}

/* ---- who does not know the secret ---- */

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

TEST(mesh_unauthenticated, refuses_callers_that_do_not_know_the_secret)
{
    CLOSED_BY(close_mesh) struct cluster c;
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
}
