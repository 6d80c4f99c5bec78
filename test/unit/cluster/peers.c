#include "cluster/peers.h"

#include "cluster/message.h"
#include "net/secret.h"
#include "test.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int peer_connect(const char *address)
{
    int fd;
    while ((fd = loopback_connect(address)) < 0) sleep_ms(5);
    return fd;
}

void peer_say(int fd, const void *data, size_t bytes)
{
    CHECK_EQ(send(fd, data, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
}

bool peer_is_cut_off(int fd, int limit_ms)
{
    bool is_ended = loopback_is_ended(fd, limit_ms);
    close(fd);
    return is_ended;
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
    size_t bytes = peer_hear(fd, MESSAGE_REFUSED, data, sizeof data) - MESSAGE_HEADER_BYTES;
    struct message_reader r = message_reader(data + MESSAGE_HEADER_BYTES, bytes);
    message_get_u32(&r);
    message_get_text(&r, sentence, capacity);
    close(fd);
}

int peer_join(const struct node *n)
{
    unsigned char data[TEXT_BYTES];
    int fd = peer_connect(n->config.node.rendezvous);
    peer_say_hello(fd, &n->config);
    peer_hear(fd, MESSAGE_WELCOME, data, sizeof data);
    return fd;
}

void peer_say_hello(int fd, const struct rendezvous_config *c)
{
    unsigned char data[TEXT_BYTES];
    peer_say(fd, data, peer_hello(c, data, sizeof data));
}

size_t peer_hear(int fd, enum message_type type, unsigned char *data, size_t capacity)
{
    struct message_header header;
    do {
        CHECK_EQ(recv(fd, data, MESSAGE_HEADER_BYTES, MSG_WAITALL), MESSAGE_HEADER_BYTES);
        header = message_header(data);
        CHECK(MESSAGE_HEADER_BYTES + header.length <= capacity);
        if (header.length)
            CHECK_EQ(recv(fd, data + MESSAGE_HEADER_BYTES, header.length, MSG_WAITALL),
                     header.length);
    } while (header.type == MESSAGE_HEARTBEAT && type != MESSAGE_HEARTBEAT);
    CHECK_EQ(header.type, type);
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
    struct impostor i = {.listener = loopback_listen(n->config.node.rendezvous)};
    node_start(n, node_join);
    i.fd = accept(i.listener, NULL, NULL);
    return i;
}

void impostor_let_in(const struct impostor *i, const uint32_t *changes, unsigned count)
{
    static const unsigned char no_proof[SECRET_PROOF_BYTES];
    peer_say_message(i->fd, peer_welcome(no_proof));
    struct message *m = message_new(MESSAGE_START);
    message_put_u64(m, 1);
    message_put_u32(m, 1);
    message_put_u32(m, 10000);
    message_put_u32(m, 3);
    for (int rank = 0; rank < 3; rank++) {
        message_put_text(m, "127.0.0.1:9");
        message_put_u32(m, 1);
    }
    message_put_u32(m, count);
    for (unsigned k = 0; k < 2 * count && k < 16; k++) message_put_u32(m, changes[k]);
    peer_say_message(i->fd, m);
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
