/*
 * carrier.h - what a link needs of the connection that carries its bytes, beside the bytes. TCP is
 * the first one.
 *
 * The bytes go without a call through this table: whoever drives the link, as uring.c does for TCP,
 * asks link_gather() what to send and says with link_sent() what went, and receives into
 * link_space() and says so with link_received() (link_private.h).
 *
 * Memory    none
 * Waiting   never
 * Life      a constant
 */
#ifndef LOCUS_NET_CARRIER_H
#define LOCUS_NET_CARRIER_H

#include "net/silence.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link;
struct link_load;

struct carrier {
    const char *name;
    /* Takes the connection of a new link over. False: no memory, and it is still the caller's. */
    bool (*open)(const struct link *);
    /* Sends this at once, behind all that has gone, or not at all. */
    void (*say_last)(const struct link *, const void *, size_t bytes);
    /* Ends both directions, and with them what is under way. */
    void (*shut)(const struct link *);
    void (*close)(const struct link *);
    /* Adds what the carrier holds of bytes that the peer has not got, and sets the round trip. */
    void (*add_load)(const struct link *, struct link_load *to);
    /* Why a peer was not heard for the time-out: a sentence's end (silence.h). */
    void (*describe_silence)(const struct link *, uint64_t timeout_ns, char *reason);
};

/* ---- TCP ---- */

/* A link on a connected socket (`fd`): no delay, bounded retries, blocking, because a ring does the
 * waiting; cubic on loopback (docs/reference/variables.md). */
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
