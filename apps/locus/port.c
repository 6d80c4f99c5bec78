#include "port.h"

#include "say.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
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

void port_release(struct port *p)
{
    if (p->fd >= 0) close(p->fd);
}
