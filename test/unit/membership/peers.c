#include "membership/peers.h"

#include "membership/hello.h"
#include "net/secret.h"
#include "test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

int peer_connect(const char *address)
{
    for (;;) {
        int fd = try_connect(address);
        if (fd >= 0) return fd;
        sleep_s(0.005);
    }
}

int peer_listen(const char *address)
{
    struct sockaddr_in a = loopback(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    CHECK_EQ(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    CHECK_EQ(listen(fd, 16), 0);
    return fd;
}

void peer_say(int fd, const void *data, size_t bytes)
{
    CHECK_EQ(send(fd, data, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
}

/* Bytes received before the peer ended the connection, which it must. */
static size_t read_to_end(int fd, unsigned char *data, size_t capacity, int limit_ms)
{
    size_t have = 0;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        CHECK_EQ(poll(&p, 1, limit_ms), 1);
        ssize_t n = recv(fd, data + have, capacity - have, 0);
        if (n <= 0) break;
        have += (size_t)n;
    }
    close(fd);
    return have;
}

bool peer_is_cut_off(int fd, int limit_ms)
{
    unsigned char data[256];
    return read_to_end(fd, data, sizeof data, limit_ms) == 0;
}

size_t peer_hello(const struct rendezvous_config *c, unsigned char *data, size_t capacity)
{
    struct message *m = hello_write(c, 10000);
    size_t bytes = m->bytes;
    CHECK(bytes <= capacity);
    memcpy(data, m->data, bytes);
    message_let_go(m);
    return bytes;
}

void peer_read_refusal(int fd, char *sentence, size_t capacity)
{
    unsigned char data[TEXT_BYTES];
    size_t bytes = 0;
    while (bytes < MESSAGE_HEADER_BYTES ||
           bytes < MESSAGE_HEADER_BYTES + message_header(data).length) {
        ssize_t n = recv(fd, data + bytes, sizeof data - bytes, 0);
        CHECK(n > 0);
        bytes += (size_t)n;
    }
    struct message_header header = message_header(data);
    CHECK_EQ(header.type, MESSAGE_REFUSED);
    struct message_reader r = message_reader(data + MESSAGE_HEADER_BYTES, header.length);
    message_get_u32(&r);
    message_get_text(&r, sentence, capacity);
    close(fd);
}

int peer_join(const struct node *n)
{
    unsigned char hello[TEXT_BYTES], welcome[MESSAGE_HEADER_BYTES + 4 + SECRET_PROOF_BYTES];
    size_t bytes = peer_hello(&n->config, hello, sizeof hello);
    int fd = peer_connect(n->config.node.rendezvous);
    peer_say(fd, hello, bytes);
    CHECK_EQ(recv(fd, welcome, sizeof welcome, MSG_WAITALL), sizeof welcome);
    CHECK_EQ(message_header(welcome).type, MESSAGE_WELCOME);
    return fd;
}

size_t peer_hear(int fd, enum message_type type, unsigned char *data, size_t capacity)
{
    CHECK_EQ(recv(fd, data, MESSAGE_HEADER_BYTES, MSG_WAITALL), MESSAGE_HEADER_BYTES);
    struct message_header header = message_header(data);
    CHECK_EQ(header.type, type);
    CHECK(MESSAGE_HEADER_BYTES + header.length <= capacity);
    if (header.length)
        CHECK_EQ(recv(fd, data + MESSAGE_HEADER_BYTES, header.length, MSG_WAITALL), header.length);
    return MESSAGE_HEADER_BYTES + header.length;
}

void peer_say_message(int fd, struct message *m)
{
    m = message_done(m);
    peer_say(fd, m->data, m->bytes);
    message_let_go(m);
}

struct message *peer_welcome(const unsigned char *proof)
{
    struct message *m = message_new(MESSAGE_WELCOME);
    message_put_u32(m, 10000);
    message_put_bytes(m, proof, SECRET_PROOF_BYTES);
    return m;
}

struct impostor impostor_meet(struct node *n)
{
    struct impostor i = {.listener = peer_listen(n->config.node.rendezvous)};
    node_start(n, node_join);
    i.fd = accept(i.listener, NULL, NULL);
    return i;
}

void impostor_meet_again(struct impostor *i)
{
    struct pollfd p = {.fd = i->listener, .events = POLLIN};
    CHECK_EQ(poll(&p, 1, 30000), 1);
    i->fd = accept(i->listener, NULL, NULL);
}

void impostor_close(const struct impostor *i)
{
    close(i->fd);
    close(i->listener);
}
