#include "net/tcp.h"

#include "net/address.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/ioctl.h>

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

static bool is_on_loopback(int fd)
{
    struct sockaddr_storage peer = {0};
    socklen_t bytes = sizeof peer;
    return getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0 &&
           address_is_loopback((const struct sockaddr *)&peer);
}

/* The host's congestion control suits its network. On loopback, without a network, the pacing of
 * bbr is useless. For a non-blocking descriptor the kernel would return "would block" instead of
 * waiting in the ring. */
void tcp_set_options(int fd)
{
    static const char cubic[] = "cubic";
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (is_on_loopback(fd)) setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cubic, sizeof cubic - 1);
    tcp_bound_retries(fd);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

size_t tcp_queued_bytes(int fd)
{
    int unacknowledged;
    return ioctl(fd, SIOCOUTQ, &unacknowledged) == 0 ? (size_t)unacknowledged : 0;
}

double tcp_round_trip_s(int fd)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;
    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes);
    return 1e-6 * info.tcpi_rtt;
}
