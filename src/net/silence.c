#include "net/silence.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44 /* Linux 6.15 */
#endif

void silence_bound_retries(int fd)
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

void silence_describe(int fd, uint64_t timeout_ns, char reason[SILENCE_REASON_BYTES])
{
    snprintf(reason, SILENCE_REASON_BYTES, SILENCE_REASON "%g s%s", (double)timeout_ns * 1e-9,
             is_acknowledged(fd, timeout_ns) ? SILENCE_ACKNOWLEDGED : "");
}
