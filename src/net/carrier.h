/*
 * carrier.h - what a link needs of the connection that carries its bytes, beside the bytes. TCP is
 * the first one (tcp.h).
 *
 * The bytes go without a call through this table: whoever drives the link, as uring.c does for TCP,
 * asks link_gather() what to send and says with link_sent() what went, and receives into
 * link_space() and says so with link_received() (link_private.h).
 *
 * Waiting   never
 * Life      a constant
 */
#ifndef LOCUS_NET_CARRIER_H
#define LOCUS_NET_CARRIER_H

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

#endif
