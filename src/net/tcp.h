/*
 * tcp.h - what is TCP's of a link.
 *
 * Memory    none
 * Waiting   never
 * Life      the connection's
 */
#ifndef LOCUS_NET_TCP_H
#define LOCUS_NET_TCP_H

#include "net/carrier.h"
#include "net/silence.h"

/* A link on a connected socket (`fd`): no delay, bounded retries, blocking, because a ring does the
 * waiting; cubic on loopback. */
extern const struct carrier tcp_carrier;

/* Who is silent while its machine acknowledges our heartbeats is not cut off. Either its process
 * does not run, or what it sends is too large for the network and is dropped on the way: then it is
 * as healthy as we are. From here nobody can tell which, so the sentence says both. */
#define TCP_ACKNOWLEDGED \
    ", but its machine answers: it was stopped, or large packets are dropped (ping -M do -s 1472)"
/* Why a peer at that connection has failed that was not heard for the time-out. */
void tcp_describe_silence(int fd, uint64_t timeout_ns, char reason[SILENCE_REASON_BYTES]);

/* Makes TCP try again at least every SILENCE_RETRY_MS, if the kernel supports that. */
void tcp_bound_retries(int fd);

#endif
