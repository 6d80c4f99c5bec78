/*
 * The making of data connections, with and without a secret: unauthenticated peers say anything to
 * the port of a node while it connects, and something answers anything at the address of another.
 * Both can also say what is right, and prove it, so that the mesh becomes complete; nothing may
 * keep it beyond its deadline or leave a descriptor open.
 */
#include "input.h"

#include "base/time.h"
#include "net/mesh.h"
#include "net/address.h"
#include "net/secret.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CALLEE, RANK, CALLER, SIZE, SHARDS = 2, WORDS = 2, MORE_MAX = 256, TALKS_MAX = 12 };
static const uint64_t CLUSTER = 7, TIMEOUT_NS = 2000000;
static const unsigned char our_nonce[SECRET_NONCE_BYTES] = "anything will do as a nonce";

/* How a message differs from the right one, and what follows it. */
struct speech {
    bool is_silent;
    struct mesh_hello change; /* the bytes that are not 0 are changed by them */
    size_t bytes;             /* of the message that are sent */
    size_t more;
    unsigned char data[MORE_MAX];
};

/* A connection with the node, on a thread of its own. */
struct talk {
    int fd;
    bool calls; /* the node, as node 2; else it was called by it, as node 0 */
    bool ends;  /* when it has said hello */
    unsigned shard;
    struct speech speech[WORDS];
    pthread_t thread;
};

static struct secret secret;

/* Of one run. */
static struct {
    bool has_secret;
    int listener; /* node 0's */
    struct speech answer[SHARDS][WORDS];
    struct talk talk[TALKS_MAX]; /* the calls to the node come first */
    unsigned talks;
} run;

/* ---- what they say --------------------------------------------------------------------------- */

static struct speech make_speech(struct input *in)
{
    struct speech s = {.bytes = sizeof(struct mesh_hello)};
    unsigned how = input_byte(in);
    if (how & 1) s.is_silent = input_rarely(in, 8);
    if (how & 2) s.change.rank = input_below(in, SIZE + 1);
    if (how & 4) s.change.shard = input_below(in, SHARDS + 1);
    if (how & 8) s.change.status = (uint16_t)input_below(in, MESH_UNPROVEN + 2);
    if (how & 16) ((unsigned char *)&s.change)[input_below(in, sizeof s.change)] = input_byte(in);
    if (how & 32) s.bytes = input_below(in, sizeof(struct mesh_hello));
    if (how & 64) {
        const uint8_t *at = input_bytes(in, input_byte(in), &s.more);
        memcpy(s.data, at, s.more);
    }
    return s;
}

/* A nonce first, then the proof to the nonce that was heard; without a secret there is one word. */
static void speak(const struct talk *t, unsigned word, const unsigned char *their_nonce)
{
    const struct speech *s = &t->speech[word];
    struct mesh_hello h = {.magic = MESH_MAGIC,
                           .version = MESH_VERSION,
                           .cluster = CLUSTER,
                           .rank = t->calls ? CALLER : CALLEE,
                           .shard = t->shard};
    struct secret_talk talk = {
        .our_rank = h.rank, .their_rank = RANK, .shard = t->shard, .cluster = CLUSTER};
    memcpy(talk.our_nonce, our_nonce, sizeof talk.our_nonce);
    if (their_nonce) memcpy(talk.their_nonce, their_nonce, sizeof talk.their_nonce);
    if (run.has_secret && word == 0) memcpy(h.proof, our_nonce, sizeof h.proof);
    if (run.has_secret && word == 0 && !t->calls) h.status = MESH_CHALLENGE;
    if (run.has_secret && word > 0)
        secret_answer(&secret, &talk, t->calls ? SECRET_CALLER : SECRET_CALLEE, NULL, 0, h.proof);
    for (size_t i = 0; i < sizeof h; i++)
        ((unsigned char *)&h)[i] ^= ((const unsigned char *)&s->change)[i];
    if (s->is_silent) return;
    send(t->fd, &h, s->bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    send(t->fd, s->data, s->more, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The caller's nonce comes first, the callee's in its challenge. */
static void *converse(void *argument)
{
    struct talk *t = argument;
    struct mesh_hello heard, nonce = {0};
    unsigned word = 0;
    if (t->calls) speak(t, word++, NULL);
    if (t->ends) shutdown(t->fd, SHUT_WR);
    for (bool is_first = true; recv(t->fd, &heard, sizeof heard, MSG_WAITALL) == sizeof heard;) {
        if (is_first) nonce = heard;
        is_first = false;
        if (!t->calls) t->shard = heard.shard;
        if (word < WORDS) speak(t, word++, nonce.proof);
    }
    return NULL;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void begin_talk(struct talk *t)
{
    MUST(pthread_create(&t->thread, NULL, converse, t) == 0);
    run.talks++;
}

static void *answer_calls(void *unused)
{
    for (unsigned answered = 0; run.talks < TALKS_MAX; answered++) {
        int fd = accept4(run.listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) break;
        struct talk *t = &run.talk[run.talks];
        *t = (struct talk){.fd = fd};
        memcpy(t->speech, run.answer[answered % SHARDS], sizeof t->speech);
        begin_talk(t);
    }
    return unused;
}

/* The fuzzer's alarm interrupts it; the connection is made all the same. */
static int connect_to(const char *address)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    a.sin_port = htons((uint16_t)strtoul(strchr(address, ':') + 1, NULL, 10));
    MUST(fd >= 0);
    if (connect(fd, (const struct sockaddr *)&a, sizeof a) == 0) return fd;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    while (errno == EINTR && poll(&p, 1, -1) != 1) continue;
    MUST(p.revents == POLLOUT);
    return fd;
}

/* Node 0's port, and the calls to the node's. */
static void begin(struct input *in, char address[SIZE][ADDRESS_MAX])
{
    const struct address_place place = {.listen = "127.0.0.1"};
    run.has_secret = input_byte(in) & 1;
    run.talks = 0;
    MUST(address_listen(&place, &run.listener, address[CALLEE]) == 0);
    for (unsigned s = 0; s < SHARDS; s++)
        for (unsigned w = 0; w < WORDS; w++) run.answer[s][w] = make_speech(in);
    for (unsigned i = 0, calls = input_below(in, TALKS_MAX / 2 + 1); i < calls; i++) {
        struct talk *t = &run.talk[i];
        *t = (struct talk){.calls = true, .shard = i % SHARDS};
        for (unsigned w = 0; w < WORDS; w++) t->speech[w] = make_speech(in);
        t->ends = input_rarely(in, 8);
        t->fd = connect_to(address[RANK]);
        begin_talk(t);
    }
}

/* Without a rest that the kernel keeps for a minute. */
static void end(pthread_t answering)
{
    const struct linger at_once = {.l_onoff = 1};
    shutdown(run.listener, SHUT_RDWR);
    pthread_join(answering, NULL);
    close(run.listener);
    for (unsigned i = 0; i < run.talks; i++) {
        int fd = run.talk[i].fd;
        shutdown(fd, SHUT_RDWR);
        pthread_join(run.talk[i].thread, NULL);
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(fd);
    }
}

/* A mesh that failed may leave some of its links, which are the caller's to close; a complete one
 * has all. */
static void check(int rc, const int *fd)
{
    for (unsigned i = 0; i < SIZE * SHARDS; i++) {
        if (i / SHARDS == RANK) MUST(fd[i] < 0);
        if (i / SHARDS != RANK && rc == 0) MUST(fd[i] >= 0);
        if (fd[i] >= 0) close(fd[i]);
    }
}

static int next_descriptor(void)
{
    int fd = dup(STDERR_FILENO);
    close(fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int before = next_descriptor(); /* between two runs the fuzzer opens some of its own */
    struct input in = input_of(data, size);
    char address[SIZE][ADDRESS_MAX] = {"", "", "127.0.0.1:1"};
    int fd[SIZE * SHARDS];
    pthread_t answering;
    unsigned char side[SIZE];
    for (int i = 0; i < SIZE; i++)
        side[i] = i == RANK ? MESH_NOBODY : i < RANK ? MESH_WE_DO : MESH_THEY_DO;
    struct mesh_config c = {
        .cluster = CLUSTER, .rank = RANK, .size = SIZE, .shards = SHARDS, .side = side};
    c.address = (const char(*)[ADDRESS_MAX])address;
    if (!secret.is_known) MUST(secret_from_text(&secret, "the secret", "a secret", 8) == 0);
    MUST(address_listen(&(struct address_place){.listen = "127.0.0.1"}, &c.listener,
                        address[RANK]) == 0);
    begin(&in, address);
    MUST(pthread_create(&answering, NULL, answer_calls, NULL) == 0);
    if (run.has_secret) c.secret = &secret;
    c.deadline_ns = time_now_ns() + TIMEOUT_NS;
    check(mesh_connect(&c, fd), fd);
    end(answering);
    MUST(next_descriptor() == before);
    return 0;
}
