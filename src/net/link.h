/*
 * link.h - one ordered connection between the same shard of two nodes: frames out, frames in.
 *
 * Sending: entries are written straight into the frame under construction (link_entry), which is
 * sent by link_flush or when it is full; one send is under way at a time, so the order of entries
 * is the order of bytes, and what is flushed meanwhile goes on filling one frame. Receiving: bytes
 * go into one buffer, and whole valid frames are handed up where they lie.
 *
 * The shard keeps its requests and their answers on a link below LINK_CREDIT_BYTES, so what a link
 * queues is bounded (link_queued_max). More fails the link, as does a frame that does not validate,
 * the end of the connection without WIRE_BYE, and silence.
 *
 * Callers   the reactor's thread alone, after uring_add_link()
 * Memory    a receive buffer of two frames, whose pages cost memory once they are used; send
 *           buffers of one frame each, from a pool of the ring, given back when sent. The pool
 *           keeps up to 4 MiB of them, 2 in any case. What is queued lies in buffers of at most
 *           twice its bytes, for a frame and the next are together more than a full one, and in one
 *           that is not flushed yet, maybe for a while (actors/outbox.h): at the very worst, with
 *           rows of up to 32,000 floats, 4 MiB and 8 more for each node of the cluster
 * Waiting   never
 * Life      uring_add_link ... its end, of which the ring's owner is told when it is a failure;
 *           uring_fini frees it
 */
#ifndef LOCUS_NET_LINK_H
#define LOCUS_NET_LINK_H

#include "net/wire.h"

enum {
    LINK_FRAME_BYTES = 128 << 10, /* a frame's body at most, unless a single entry is larger */
    /* More would let frames leave the processor's cache before they are sent; less would not fill
     * the round trip of a fast network. */
    LINK_CREDIT_BYTES = 1 << 20,
};

struct link;

/* What the links of a ring tell its owner, on the reactor's thread, from within uring_poll. */
struct link_events {
    void *context;
    /* A frame of entries that passed wire_check_frame; entries are walked by the receiver. The body
     * is valid until return. NULL, or what about it makes the link fail, in the words of wire.h:
     * "an entry of no known operation". */
    const char *(*frame)(void *context, unsigned peer, const struct wire_frame *, const void *body);
    /* The link to `peer` failed, once a link. `culprit` is the node that failed first as far as
     * known: the peer itself, or whom its WIRE_LOST named, a node of the cluster in any case.
     * `reason` reads well behind "node N (host:port) ": "closed the connection", "was silent for 10
     * s", "sent a frame larger than agreed". Links that failed before are told of before. */
    void (*failed)(void *context, unsigned peer, unsigned culprit, const char *reason);
    /* A heartbeat of `peer`: it lives, and has nothing to say. NULL: nobody wants to know. */
    void (*heartbeat)(void *context, unsigned peer);
};

/* Space for one entry with `length` floats in the frame under construction; of its header only
 * `length` is set, the rest is zeros. Valid until the next call on this link or of uring_submit.
 * NULL: the link has failed (as it does when this entry is too many; the owner is told in the next
 * uring_poll) or ended, or we said goodbye. */
struct wire_entry *link_entry(struct link *, uint32_t length);

/* Sends what is under construction, at the next uring_submit or, when a send is under way, at the
 * first one after it. Nothing: no frame. */
void link_flush(struct link *);

/* Bytes that wait to be sent, the frame under construction included; and how many may: for our own
 * requests, and for every node what it has under way in all its credits at worst, if its requests
 * or the answers to them go by us. */
size_t link_queued_bytes(const struct link *);
size_t link_queued_max(const struct link *);

/* Says goodbye (WIRE_BYE) behind everything queued; the end of the connection is no failure from
 * now on. Silence still is, until the peer says goodbye, too. */
void link_bye(struct link *);
/* The same with the news that we leave because node `lost` failed: the peer's ring tells its owner
 * so. */
void link_lost(struct link *, unsigned lost, const char *reason);

/* The kernel has taken all that was to be sent, or the link has failed or ended. */
bool link_is_drained(const struct link *);
/* The peer said WIRE_BYE, or the link has failed or ended. Closing before that may lose what is
 * still on its way, a WIRE_LOST too. */
bool link_peer_is_gone(const struct link *);

struct link_stats {
    uint64_t bytes_sent, bytes_received;
    uint64_t frames_sent, frames_received; /* heartbeats included */
};
struct link_stats link_stats(const struct link *); /* any thread */

/* What the link has to carry, any thread until it is freed. */
struct link_load {
    size_t queued_bytes; /* that the peer has not acknowledged: here, and in the kernel */
    double round_trip_s; /* as TCP sees it; 0: it does not know */
};
struct link_load link_load(const struct link *);

static inline void link_stats_add(struct link_stats *to, struct link_stats more)
{
    to->bytes_sent += more.bytes_sent;
    to->bytes_received += more.bytes_received;
    to->frames_sent += more.frames_sent;
    to->frames_received += more.frames_received;
}

#endif
