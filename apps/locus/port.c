#include "port.h"

#include "say.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int bind_socket(struct port *p, const struct sockaddr *address, socklen_t bytes)
{
    const int on = 1;
    p->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (p->fd < 0) return -errno;
    setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(p->fd, address, bytes) == 0) return 0;
    int rc = -errno;
    close(p->fd);
    return rc;
}

static int hold_ipv4(struct port *p, unsigned number)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number)};
    socklen_t bytes = sizeof a;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int rc = bind_socket(p, (struct sockaddr *)&a, sizeof a);
    if (rc) return rc;
    getsockname(p->fd, (struct sockaddr *)&a, &bytes);
    snprintf(p->address, sizeof p->address, "127.0.0.1:%u", ntohs(a.sin_port));
    return 0;
}

static int hold_ipv6(struct port *p, unsigned number)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)number)};
    socklen_t bytes = sizeof a;
    a.sin6_addr = in6addr_loopback;
    int rc = bind_socket(p, (struct sockaddr *)&a, sizeof a);
    if (rc) return rc;
    getsockname(p->fd, (struct sockaddr *)&a, &bytes);
    snprintf(p->address, sizeof p->address, "[::1]:%u", ntohs(a.sin6_port));
    return 0;
}

int port_hold(struct port *p, unsigned number)
{
    int rc = hold_ipv4(p, number);
    if (rc == -EAFNOSUPPORT || rc == -EADDRNOTAVAIL) rc = hold_ipv6(p, number);
    if (rc == -EADDRINUSE && number)
        return say_and(STATUS_FAILED,
                       "port %u of loopback is taken: choose another, or leave --port away",
                       number);
    if (rc) return say_and(STATUS_FAILED, "no port of loopback can be had: %s", strerror(-rc));
    return 0;
}

void port_release(struct port *p)
{
    if (p->fd >= 0) close(p->fd);
}
