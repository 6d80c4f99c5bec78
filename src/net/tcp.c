#include "net/carrier.h"

#include "base/error.h"
#include "locus.h"
#include "net/address.h"
#include "net/forked.h"
#include "net/link_private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44 /* Linux 6.15 */
#endif

void tcp_bound_retries(int fd)
{
    int ms = SILENCE_RETRY_MS;
    setsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &ms, sizeof ms); /* refused by older kernels */
}

/* Did the other machine acknowledge something that late in the silence? */
static bool is_acknowledged(int fd, uint64_t timeout_ns)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes)) return false;
    return info.tcpi_state == TCP_ESTABLISHED &&
           (uint64_t)info.tcpi_last_ack_recv * 1000000 < timeout_ns / 2;
}

void tcp_describe_silence(int fd, uint64_t timeout_ns, char reason[SILENCE_REASON_BYTES])
{
    snprintf(reason, SILENCE_REASON_BYTES, SILENCE_REASON "%g s%s", (double)timeout_ns * 1e-9,
             is_acknowledged(fd, timeout_ns) ? TCP_ACKNOWLEDGED : "");
}

/* Without these settings a link is slower, but not wrong. For a non-blocking descriptor the kernel
 * would return "would block" instead of waiting in the ring. */
static bool is_on_loopback(int fd)
{
    struct sockaddr_storage peer = {0};
    socklen_t bytes = sizeof peer;
    return getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0 &&
           address_is_loopback((const struct sockaddr *)&peer);
}

/* The host's congestion control suits its network. On loopback, without a network, the pacing of
 * bbr is useless. */
static void choose_congestion_control(int fd)
{
    static const char cubic[] = "cubic";
    if (is_on_loopback(fd)) setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cubic, sizeof cubic - 1);
}

static void set_options(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    choose_congestion_control(fd);
    tcp_bound_retries(fd);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

static bool open_link(const struct link *l)
{
    if (forked_register(l->fd)) return false;
    set_options(l->fd);
    return true;
}

static void say_last(const struct link *l, const void *data, size_t bytes)
{
    send(l->fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void shut(const struct link *l)
{
    shutdown(l->fd, SHUT_RDWR);
}

static void close_link(const struct link *l)
{
    forked_unregister(l->fd);
    close(l->fd);
}

static void add_load(const struct link *l, struct link_load *to)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;
    int unacknowledged = 0;
    if (ioctl(l->fd, SIOCOUTQ, &unacknowledged) == 0) to->queued_bytes += (size_t)unacknowledged;
    if (getsockopt(l->fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0)
        to->round_trip_s = 1e-6 * info.tcpi_rtt;
}

static void describe_silence(const struct link *l, uint64_t timeout_ns, char *reason)
{
    tcp_describe_silence(l->fd, timeout_ns, reason);
}

const struct carrier tcp_carrier = {.name = "TCP",
                                    .open = open_link,
                                    .say_last = say_last,
                                    .shut = shut,
                                    .close = close_link,
                                    .add_load = add_load,
                                    .describe_silence = describe_silence};
