#include "namespaces.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Nobody else is in a node's namespace. */
enum { RENDEZVOUS_PORT = 7000, FIRST_PORT = 7001 };

static void go_to(int space)
{
    CHECK_EQ(setns(space, CLONE_NEWNET), 0);
}

static int this_space(void)
{
    int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

static void raise_loopback(void)
{
    struct ifreq r = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(ioctl(fd, SIOCSIFFLAGS, &r), 0);
    close(fd);
}

/* As root, or else as the root of a user namespace, which only a process of one thread may make. */
static void need_privilege(void)
{
    if (unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) return;
    SKIP("network namespaces are not permitted here");
}

/* ---- a proxy between two namespaces ---- */

struct passage {
    int from, to; /* namespaces */
    int port;
};

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static int new_socket(void)
{
    const int bytes = PROXY_SOCKET_BYTES, on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    /* the proxies' delay is the only one */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* A socket stays in the namespace where it was made, whoever uses it. */
static int dial(void *context)
{
    const struct passage *p = context;
    const struct sockaddr_in a = loopback(p->port);
    go_to(p->to);
    int fd = new_socket();
    if (connect(fd, (const struct sockaddr *)&a, sizeof a) == 0) return fd;
    close(fd);
    return -1;
}

static int listen_at(const struct passage *p)
{
    const struct sockaddr_in a = loopback(p->port);
    go_to(p->from);
    int fd = new_socket();
    CHECK_EQ(bind(fd, (const struct sockaddr *)&a, sizeof a), 0);
    CHECK_EQ(listen(fd, PROXY_CONNECTIONS_MAX), 0);
    return fd;
}

static struct proxy *new_proxy(const struct namespaces *s, int from, int to, int port)
{
    static struct passage passages[NAMESPACES_MAX * (NAMESPACES_MAX + 1)];
    struct passage *p = &passages[to * NAMESPACES_MAX + from];
    if (port == RENDEZVOUS_PORT) p = &passages[NAMESPACES_MAX * NAMESPACES_MAX + from];
    *p = (struct passage){s->space[from], s->space[to], port};
    return proxy_new(listen_at(p), dial, p);
}

/* ---- namespaces ---- */

void namespaces_open(struct namespaces *s, int count)
{
    CHECK(count <= NAMESPACES_MAX);
    memset(s, 0, sizeof *s);
    s->count = count;
    s->home = this_space();
    need_privilege();
    setenv("LOCUS_LAB", "tcp", 1); /* namespaces share no memory, either */
    for (int i = 0; i < count; i++) {
        CHECK_EQ(unshare(CLONE_NEWNET), 0);
        raise_loopback();
        s->space[i] = this_space();
    }
    for (int from = 0; from < count; from++)
        for (int to = 0; to < count; to++)
            if (from != to) s->link[from][to] = new_proxy(s, from, to, FIRST_PORT + to);
    for (int from = 1; from < count; from++)
        s->rendezvous[from] = new_proxy(s, from, 0, RENDEZVOUS_PORT);
}

void namespaces_close(struct namespaces *s)
{
    for (int from = 0; from < s->count; from++) {
        for (int to = 0; to < s->count; to++)
            if (s->link[from][to]) proxy_free(s->link[from][to]);
        if (s->rendezvous[from]) proxy_free(s->rendezvous[from]);
        close(s->space[from]);
    }
    close(s->home);
}

void namespaces_enter(const struct namespaces *s, int which)
{
    go_to(s->space[which]);
}

/* Home is out of reach for the root of a user namespace; anywhere else will do then. */
void namespaces_leave(const struct namespaces *s)
{
    if (setns(s->home, CLONE_NEWNET) != 0) go_to(s->space[0]);
}

void namespaces_address(int rank, char address[ADDRESS_BYTES])
{
    snprintf(address, ADDRESS_BYTES, "127.0.0.1:%d", FIRST_PORT + rank);
}

void namespaces_rendezvous(char address[ADDRESS_BYTES])
{
    snprintf(address, ADDRESS_BYTES, "127.0.0.1:%d", RENDEZVOUS_PORT);
}

void namespaces_stall(struct namespaces *s, int a, int b, bool stalled)
{
    proxy_stall(s->link[a][b], PROXY_FORTH, stalled);
    proxy_stall(s->link[b][a], PROXY_BACK, stalled);
}

void namespaces_delay(struct namespaces *s, double seconds)
{
    for (int from = 0; from < s->count; from++) {
        for (int to = 0; to < s->count; to++)
            if (s->link[from][to]) proxy_delay(s->link[from][to], seconds);
        if (s->rendezvous[from]) proxy_delay(s->rendezvous[from], seconds);
    }
}
