/*
 * The making of data connections, with and without a secret: unauthenticated peers say anything to
 * the port of a node while it connects, and something answers anything at the address of another.
 * Both can also say what is right, and prove it, so that the mesh becomes complete; nothing may
 * keep it beyond its deadline or leave a descriptor open.
 */
#include "input.h"

#include "base/clock.h"
#include "net/mesh.h"
#include "net/mesh_listener.h"
#include "net/secret.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RANK = 1,
    CALLER = 2,
    CALLEE = 0,
    SIZE = 3,
    SHARDS = 2,
    WORDS = 2,
    SPEECH_MAX = 256,
    ENDS_MAX = 12,
    CALLS_MAX = 6
};
static const uint64_t CLUSTER = 7, TIMEOUT_NS = 2000000;
static const unsigned char our_nonce[SECRET_NONCE_BYTES] = "anything will do as a nonce";

/* How a message differs from the right one, and what follows it. */
struct speech {
    bool is_silent;
    struct mesh_hello change; /* the bytes that are not 0 are changed by them */
    size_t bytes;             /* of the message that are sent */
    size_t more;
    unsigned char data[SPEECH_MAX];
};

/* One end of a connection with the node. */
struct end {
    int fd;
    bool calls; /* the node, as node 2; else it was called by it, as node 0 */
    unsigned shard, said;
    size_t heard;
    struct mesh_hello message;
    unsigned char their_nonce[SECRET_NONCE_BYTES];
    struct speech speech[WORDS];
};

static struct {
    pthread_mutex_t mutex;
    int listener, news;
    char address[MESH_ADDRESS_MAX];
    struct secret secret;
    bool has_secret, is_over;
    struct end end[ENDS_MAX];
    unsigned ends;
    struct speech answer[SHARDS][WORDS]; /* of node 0, to the connections in turn */
    unsigned answered;
} others = {.mutex = PTHREAD_MUTEX_INITIALIZER, .is_over = true};

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

static void change(struct mesh_hello *h, const struct mesh_hello *by)
{
    unsigned char bytes[sizeof *h], mask[sizeof *by];
    memcpy(bytes, h, sizeof bytes);
    memcpy(mask, by, sizeof mask);
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] ^= mask[i];
    memcpy(h, bytes, sizeof bytes);
}

static void prove(struct end *e, unsigned char proof[SECRET_PROOF_BYTES])
{
    const struct secret_claim claim = {
        .role = e->calls ? SECRET_CALLER : SECRET_CALLEE,
        .prover = e->calls ? CALLER : CALLEE,
        .verifier = RANK,
        .shard = e->shard,
        .cluster = CLUSTER,
        .prover_nonce = our_nonce,
        .verifier_nonce = e->their_nonce,
    };
    secret_prove(&others.secret, &claim, proof);
}

/* The next word: a nonce first, then the proof; without a secret there is one word. */
static void speak(struct end *e)
{
    if (e->said == WORDS) return;
    const struct speech *s = &e->speech[e->said];
    struct mesh_hello h = {
        .magic = MESH_MAGIC, .version = MESH_VERSION, .cluster = CLUSTER, .shard = e->shard};
    h.rank = e->calls ? CALLER : CALLEE;
    if (others.has_secret && e->said == 0) memcpy(h.proof, our_nonce, sizeof h.proof);
    if (others.has_secret && e->said == 0 && !e->calls) h.status = MESH_CHALLENGE;
    if (others.has_secret && e->said > 0) prove(e, h.proof);
    change(&h, &s->change);
    e->said++;
    if (s->is_silent) return;
    send(e->fd, &h, s->bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    send(e->fd, s->data, s->more, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void hear(struct end *e)
{
    ssize_t n =
        recv(e->fd, (char *)&e->message + e->heard, sizeof e->message - e->heard, MSG_DONTWAIT);
    if (n <= 0) {
        close(e->fd);
        e->fd = -1;
        return;
    }
    e->heard += (size_t)n;
    if (e->heard < sizeof e->message) return;
    e->heard = 0;
    /* The caller's nonce comes first, the callee's in its challenge. */
    if (e->said == (e->calls ? 1 : 0))
        memcpy(e->their_nonce, e->message.proof, sizeof e->their_nonce);
    if (!e->calls) e->shard = e->message.shard;
    speak(e);
}

/* ---- a thread for all of them ---------------------------------------------------------------- */

static void answer_call(void)
{
    int fd = accept4(others.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (others.is_over || others.ends == ENDS_MAX) {
        close(fd);
        return;
    }
    struct end *e = &others.end[others.ends++];
    *e = (struct end){.fd = fd};
    memcpy(e->speech, others.answer[others.answered++ % SHARDS], sizeof e->speech);
}

static void handle(const struct pollfd *p, unsigned ends)
{
    uint64_t news;
    if (p[0].revents && read(others.news, &news, sizeof news) < 0) MUST(errno == EAGAIN);
    for (unsigned i = 0; i < ends && i < others.ends; i++)
        if (p[2 + i].revents && others.end[i].fd == p[2 + i].fd) hear(&others.end[i]);
    if (p[1].revents) answer_call();
}

static void *attend(void *unused)
{
    for (;;) {
        struct pollfd p[2 + ENDS_MAX] = {{.fd = others.news, .events = POLLIN},
                                         {.fd = others.listener, .events = POLLIN}};
        pthread_mutex_lock(&others.mutex);
        unsigned ends = others.ends;
        for (unsigned i = 0; i < ends; i++)
            p[2 + i] = (struct pollfd){.fd = others.end[i].fd, .events = POLLIN};
        pthread_mutex_unlock(&others.mutex);
        poll(p, 2 + ends, -1);
        pthread_mutex_lock(&others.mutex);
        handle(p, ends);
        pthread_mutex_unlock(&others.mutex);
    }
    return unused;
}

static void start_others(void)
{
    static const char text[] = "a secret";
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof a;
    pthread_t thread;
    if (*others.address) return;
    MUST(secret_from_text(&others.secret, "the secret", text, sizeof text - 1) == 0);
    others.news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    others.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    MUST(bind(others.listener, (struct sockaddr *)&a, sizeof a) == 0 &&
         listen(others.listener, 64) == 0);
    MUST(getsockname(others.listener, (struct sockaddr *)&a, &bytes) == 0);
    snprintf(others.address, sizeof others.address, "127.0.0.1:%u", ntohs(a.sin_port));
    MUST(pthread_create(&thread, NULL, attend, NULL) == 0);
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* The fuzzer's alarm interrupts it; the connection is made all the same. */
static void connect_to(int fd, const struct sockaddr_in *a)
{
    int error = connect(fd, (const struct sockaddr *)a, sizeof *a) ? errno : 0;
    if (error == EINTR) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        socklen_t bytes = sizeof error;
        while (poll(&p, 1, -1) < 0) MUST(errno == EINTR);
        MUST(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0);
    }
    if (error) fprintf(stderr, "connecting: %s\n", strerror(error));
    MUST(error == 0);
}

static void call(struct input *in, const char *address, unsigned shard)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct end *e = &others.end[others.ends];
    *e = (struct end){.calls = true, .shard = shard};
    for (unsigned w = 0; w < WORDS; w++) e->speech[w] = make_speech(in);
    bool ends = input_rarely(in, 8);
    a.sin_port = htons((uint16_t)strtoul(strchr(address, ':') + 1, NULL, 10));
    e->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(e->fd >= 0);
    connect_to(e->fd, &a);
    others.ends++;
    speak(e);
    if (ends) shutdown(e->fd, SHUT_WR);
}

/* The node's port is `address`. */
static void begin(struct input *in, const char *address)
{
    const uint64_t one = 1;
    pthread_mutex_lock(&others.mutex);
    others.has_secret = input_byte(in) & 1;
    others.is_over = false;
    others.answered = 0;
    for (unsigned s = 0; s < SHARDS; s++)
        for (unsigned w = 0; w < WORDS; w++) others.answer[s][w] = make_speech(in);
    for (unsigned i = 0, calls = input_below(in, CALLS_MAX + 1); i < calls; i++)
        call(in, address, i % SHARDS);
    MUST(write(others.news, &one, sizeof one) == sizeof one);
    pthread_mutex_unlock(&others.mutex);
}

/* Without a rest that the kernel keeps for a minute. */
static void end(void)
{
    const struct linger at_once = {.l_onoff = 1};
    pthread_mutex_lock(&others.mutex);
    others.is_over = true;
    for (; others.ends > 0; others.ends--) {
        int fd = others.end[others.ends - 1].fd;
        if (fd < 0) continue;
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(fd);
    }
    pthread_mutex_unlock(&others.mutex);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = input_of(data, size);
    char address[SIZE][MESH_ADDRESS_MAX] = {"", "", "127.0.0.1:1"};
    int fd[SIZE * SHARDS];
    struct mesh_config c = {.cluster = CLUSTER, .rank = RANK, .size = SIZE, .shards = SHARDS};
    c.address = (const char(*)[MESH_ADDRESS_MAX])address;
    MUST(mesh_listen(&(struct mesh_place){.listen = "127.0.0.1"}, &c.listener, address[RANK]) == 0);
    start_others();
    memcpy(address[CALLEE], others.address, sizeof address[CALLEE]);
    begin(&in, address[RANK]);
    if (others.has_secret) c.secret = &others.secret;
    c.deadline_ns = clock_now_ns() + TIMEOUT_NS;
    check(mesh_connect(&c, fd), fd);
    end();
    return 0;
}
