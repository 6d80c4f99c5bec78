/*
 * link.h - one ordered connection between the same shard of two nodes: frames out, frames in.
 *
 * Sending: entries are written directly into the frame under construction (link_entry). It is sent
 * by link_flush, or when it is full. Only one send is under way at a time, so bytes keep the order
 * of the entries, and entries that are flushed meanwhile gather in one frame. Receiving: bytes go
 * into one buffer, and complete valid frames are passed up from there without a copy.
 *
 * The shard keeps its requests and their answers on a link below LINK_CREDIT_BYTES, so the queue of
 * a link is bounded (link_queued_max). A link fails if its queue is longer, if a frame is invalid,
 * if the connection ends without WIRE_BYE, or if the peer is silent.
 *
 * Two nodes of one host speak through shared memory (shm.h), once they have agreed on it over the
 * connection, whose end then still is the link's end. Nobody above a link sees the difference.
 *
 * Callers   the reactor's thread alone, after uring_add_link()
 * Memory    a receive buffer of two frames, whose pages cost memory once they are used; send
 *           buffers of one frame each from a pool of the ring, which keeps up to 4 MiB of them.
 *           Queued bytes take at most twice their size, because two consecutive frames are together
 *           larger than a full one; and one more frame may not be flushed for a while
 *           (actors/mailbox.h): with rows of up to 32,000 floats at most 4 MiB, and 8 MiB for each
 *           node of the cluster. What all links of a ring may have together is in uring_config
 * Waiting   never
 * Life      from uring_add_link to its end; the ring's owner is told of a failure; uring_fini frees
 *           it
 */
#ifndef LOCUS_NET_LINK_H
#define LOCUS_NET_LINK_H

#include "base/figures.h"
#include "net/wire.h"

enum {
    LINK_FRAME_BYTES = 128 << 10, /* a frame's body at most, unless a single entry is larger */
    /* More would let frames leave the processor's cache before they are sent; less would not fill
     * the round trip of a fast network. */
    LINK_CREDIT_BYTES = 1 << 20,
};

struct link;

/* Calls of the links to the ring's owner, on the reactor's thread, from within uring_poll. */
struct link_events {
    void *context;
    /* A frame of entries that passed wire_check_frame; the receiver walks through the entries. The
     * body is valid until the call returns. Returns NULL, or the reason why the link must fail, in
     * the words of wire.h: "an entry of no known operation". */
    const char *(*frame)(void *context, unsigned peer, const struct wire_frame *, const void *body);
    /* The link to `peer` failed: once for each link, in their order. `culprit` is the node that failed
     * first, as far as known: the peer itself, or the one that its WIRE_LOST named. `reason`
     * continues the sentence "node N (host:port) ...": "was silent for 10 s". */
    void (*failed)(void *context, unsigned peer, unsigned culprit, const char *reason);
    /* A heartbeat of `peer`: it lives and has nothing to say. May be NULL. */
    void (*heartbeat)(void *context, unsigned peer);
};

/* Space for one entry with `length` floats in the frame under construction; in its header only
 * `length` is set, the rest is zero. Valid until the next call on this link or of uring_submit.
 * NULL: the link has ended, or failed, perhaps because this entry is too many; or we said goodbye. */
struct wire_entry *link_entry(struct link *, uint32_t length);

/* Sends the frame under construction with the next uring_submit or, if a send is under way, with
 * the first one after it. Does nothing if there is no frame. */
void link_flush(struct link *);

/* How many bytes may wait to be sent: our own requests, and for every node all of its credit, because
 * in the worst case all its requests or their answers pass through us. Where a lost node is survived,
 * its part of what there is for all links: a repair says all rows at once. */
size_t link_queued_max(const struct link *);

/* Says goodbye (WIRE_BYE) after everything queued. From now on the end of the connection is no
 * failure; silence still is, until the peer says goodbye, too. */
void link_bye(struct link *);
/* The same, but says that we leave because node `lost` failed; the peer's ring tells its owner. */
void link_lost(struct link *, unsigned lost, const char *reason);

/* The kernel has taken everything that was to be sent, or the link has failed or ended. */
bool link_is_drained(const struct link *);
/* The peer said WIRE_BYE, or the link has failed or ended. Closing earlier may lose what is still
 * on its way, even a WIRE_LOST. */
bool link_peer_is_gone(const struct link *);

struct link_stats {
    LINK_FIGURES(FIGURE_FIELD)
};
/* Adds what was counted so far, with earlier links to that peer. Any thread. */
void link_add_stats(const struct link *, struct link_stats *to);

/* Any thread, until the link is freed. Of one that was dropped: zeros. */
struct link_load {
    size_t queued_bytes; /* not acknowledged by the peer: here and in the kernel */
    double round_trip_s; /* as TCP measures it; 0: unknown */
    bool is_shm;         /* through shared memory (shm.h); else TCP */
};
struct link_load link_load(struct link *);

#endif
