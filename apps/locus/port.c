#include "port.h"

#include "cluster/message.h"
#include "net/secret.h"
#include "say.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static int hold(struct port *p, unsigned number, bool is_ipv6)
{
    const int on = 1;
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)number)};
    struct sockaddr *a = is_ipv6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
    socklen_t bytes = is_ipv6 ? sizeof v6 : sizeof v4;
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    v6.sin6_addr = in6addr_loopback;
    p->fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (p->fd < 0) return -errno;
    setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(p->fd, a, bytes)) {
        int rc = -errno;
        port_release(p);
        p->fd = -1;
        return rc;
    }
    getsockname(p->fd, a, &bytes);
    snprintf(p->address, sizeof p->address, is_ipv6 ? "[::1]:%u" : "127.0.0.1:%u",
             ntohs(is_ipv6 ? v6.sin6_port : v4.sin_port));
    return 0;
}

int port_hold(struct port *p, unsigned number)
{
    int rc = hold(p, number, false);
    if (rc == -EAFNOSUPPORT || rc == -EADDRNOTAVAIL) rc = hold(p, number, true);
    if (rc == -EADDRINUSE && number)
        return say_and(STATUS_FAILED,
                       "port %u of loopback is taken: choose another, or leave --port away",
                       number);
    if (rc) return say_and(STATUS_FAILED, "no port of loopback can be had: %s", strerror(-rc));
    return 0;
}

/* Of one more that comes as rank 0 a rendezvous wants a proof, as long as others are missing; else it
 * sends it away at once. Nobody is told of a visitor that proves nothing, and goes. */
static int ask(int fd, const struct port *p, unsigned nodes)
{
    unsigned char answer[MESSAGE_HEADER_BYTES];
    const struct secret secret = {.is_known = true};
    struct rendezvous_config c = {.data_address = p->address, .secret = &secret};
    locus_config_init(&c.node);
    c.node.size = (int)nodes;
    struct message *m = hello_write(&c, 1);
    bool is_said = m && send(fd, m->data, m->bytes, MSG_NOSIGNAL) == (ssize_t)m->bytes;
    message_let_go(m);
    if (!is_said || recv(fd, answer, sizeof answer, MSG_WAITALL) != sizeof answer) return -1;
    return message_header(answer).type != MESSAGE_CHALLENGE;
}

int port_has_formed(const struct port *p, unsigned nodes)
{
    const struct timeval limit = {.tv_usec = PORT_ANSWER_US};
    struct sockaddr_storage a = {.ss_family = AF_INET};
    socklen_t bytes = sizeof a;
    if (getsockname(p->fd, (struct sockaddr *)&a, &bytes)) return -1;
    int fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    int has = connect(fd, (struct sockaddr *)&a, bytes) ? -1 : ask(fd, p, nodes);
    close(fd);
    return has;
}

void port_release(struct port *p)
{
    if (p->fd >= 0) close(p->fd);
}
