#include "probe.h"

#include "clock.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { PING_BYTES = 64, STREAM_BYTES = 1 << 20, PING = 'p', STREAM = 's' };

/* The first address of the name; freed with freeaddrinfo(). */
static int look_up(const char *host, unsigned port, int flags, struct addrinfo **out)
{
    char text[8];
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
    snprintf(text, sizeof text, "%u", port);
    return getaddrinfo(host, text, &hints, out) ? -ENOENT : 0;
}

static void limit_waiting(int fd)
{
    const struct timeval timeout = {.tv_sec = PROBE_TIMEOUT_S};
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* A socket with a time-out is interrupted by any signal, and by what a closed ring leaves
 * behind. */
static bool is_interrupted(ssize_t n)
{
    return n < 0 && errno == EINTR;
}

static int failed(ssize_t n)
{
    if (n == 0) return -ECONNRESET;
    return errno == EAGAIN || errno == EINPROGRESS ? -ETIMEDOUT : -errno;
}

static int send_all(int fd, const void *from, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = send(fd, (const char *)from + done, bytes - done, MSG_NOSIGNAL);
        if (is_interrupted(n)) continue;
        if (n <= 0) return failed(n);
        done += (size_t)n;
    }
    return 0;
}

static int receive_all(int fd, void *to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = recv(fd, (char *)to + done, bytes - done, 0);
        if (is_interrupted(n)) continue;
        if (n <= 0) return failed(n);
        done += (size_t)n;
    }
    return 0;
}

/* ---- who listens ---- */

static int listen_at(const char *host, unsigned *port, int *fd)
{
    struct addrinfo *a;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } bound;
    socklen_t bytes = sizeof bound;
    int on = 1, off = 0, rc = look_up(host, *port, AI_PASSIVE, &a);
    if (rc) return rc;
    memset(&bound, 0, sizeof bound);
    *fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd >= 0) setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (*fd >= 0 && a->ai_family == AF_INET6)
        setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    bool listens = *fd >= 0 && bind(*fd, a->ai_addr, a->ai_addrlen) == 0 && listen(*fd, 16) == 0 &&
                   getsockname(*fd, &bound.any, &bytes) == 0;
    if (!listens) rc = errno ? -errno : -EIO;
    freeaddrinfo(a);
    if (rc && *fd >= 0) close(*fd);
    if (rc) return rc;
    *port = ntohs(bound.any.sa_family == AF_INET ? bound.v4.sin_port : bound.v6.sin6_port);
    return 0;
}

/* Everywhere is where IPv6 is, too; a host may have but one of the two. */
int probe_listen(const char *host, unsigned *port, int *fd)
{
    bool is_everywhere = strcmp(host, PROBE_EVERYWHERE) == 0;
    int rc = listen_at(is_everywhere ? "::" : host, port, fd);
    bool has_no_ipv6 = rc == -EAFNOSUPPORT || rc == -EADDRNOTAVAIL || rc == -ENOENT;
    return is_everywhere && has_no_ipv6 ? listen_at("0.0.0.0", port, fd) : rc;
}

static int count_stream(int fd, void *buffer)
{
    uint64_t count = 0;
    ssize_t n;
    while ((n = recv(fd, buffer, STREAM_BYTES, 0)) > 0 || is_interrupted(n))
        if (n > 0) count += (size_t)n;
    return n ? failed(n) : send_all(fd, &count, sizeof count);
}

static int answer(int fd)
{
    char ping[PING_BYTES];
    int rc = 0;
    for (unsigned i = 0; i <= PROBE_PINGS && rc == 0; i++) {
        rc = receive_all(fd, ping, sizeof ping);
        if (rc == 0 && *ping == STREAM) break;
        if (rc == 0) rc = send_all(fd, ping, sizeof ping);
    }
    void *buffer = rc ? NULL : malloc(STREAM_BYTES);
    if (!rc) rc = buffer ? count_stream(fd, buffer) : -ENOMEM;
    free(buffer);
    return rc;
}

int probe_serve(int fd, const char token[PROBE_TOKEN_BYTES])
{
    int rc = -ETIMEDOUT;
    double until_s = clock_s() + PROBE_TIMEOUT_S;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    /* unauthenticated peers, or none that can be accepted,, do not make it longer */
    while (clock_s() < until_s) {
        char said[PROBE_TOKEN_BYTES];
        int n = poll(&p, 1, clock_poll_ms(until_s));
        if (is_interrupted(n)) continue;
        if (n <= 0) break;
        int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (peer < 0) continue;
        limit_waiting(peer);
        bool is_ours = receive_all(peer, said, sizeof said) == 0 &&
                       memcmp(said, token, sizeof said) == 0;
        if (is_ours) rc = answer(peer);
        close(peer);
        if (is_ours) break;
    }
    close(fd);
    return rc;
}

/* ---- who measures ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure_pings(int fd, struct probe_result *r)
{
    static double took_s[PROBE_PINGS];
    char ping[PING_BYTES] = {PING};
    int rc = 0;
    for (unsigned i = 0; i < PROBE_PINGS && rc == 0; i++) {
        double start_s = clock_s();
        rc = send_all(fd, ping, sizeof ping);
        if (rc == 0) rc = receive_all(fd, ping, sizeof ping);
        took_s[i] = clock_s() - start_s;
    }
    qsort(took_s, PROBE_PINGS, sizeof *took_s, compare);
    r->round_trip_s = took_s[PROBE_PINGS / 2];
    return rc;
}

static int measure_stream(int fd, struct probe_result *r)
{
    char ping[PING_BYTES] = {STREAM}, *buffer = calloc(1, STREAM_BYTES);
    uint64_t count = 0;
    int rc = buffer ? send_all(fd, ping, sizeof ping) : -ENOMEM;
    double start_s = clock_s();
    while (rc == 0 && clock_s() < start_s + PROBE_STREAM_S) rc = send_all(fd, buffer, STREAM_BYTES);
    if (rc == 0) shutdown(fd, SHUT_WR);
    if (rc == 0) rc = receive_all(fd, &count, sizeof count);
    r->bytes_a_second = (double)count / (clock_s() - start_s);
    free(buffer);
    return rc;
}

/* An interrupted connect() goes on by itself. */
static int connect_to(int fd, const struct addrinfo *a)
{
    int error = 0;
    socklen_t bytes = sizeof error;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0) return 0;
    if (errno != EINTR) return failed(-1);
    double until_s = clock_s() + PROBE_TIMEOUT_S;
    int n;
    do n = poll(&p, 1, clock_poll_ms(until_s));
    while (is_interrupted(n));
    if (n == 0) return -ETIMEDOUT;
    return n < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) ? -errno : -error;
}

int probe_measure(const char *host, unsigned port, const char token[PROBE_TOKEN_BYTES],
                  struct probe_result *r)
{
    struct addrinfo *a;
    int rc = look_up(host, port, 0, &a);
    if (rc) return rc;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) limit_waiting(fd);
    rc = fd < 0 ? -errno : connect_to(fd, a);
    freeaddrinfo(a);
    if (rc == 0) rc = send_all(fd, token, PROBE_TOKEN_BYTES);
    if (rc == 0) rc = measure_pings(fd, r);
    if (rc == 0) rc = measure_stream(fd, r);
    if (fd >= 0) close(fd);
    return rc;
}
