/*
 * uring.h - the io_uring of one reactor: its links, its wake-up, its sleep. All io_uring calls are
 * in uring.c.
 *
 * Each link has at most one receive and one send under way, both with linear memory: that is fastest
 * for a request that waits for its answer, and as fast as any other way for streams.
 *
 * Callers   from uring_start on the reactor's thread alone, but for what does without the ring
 *           while that sleeps, and uring_wake; uring_fini, too, on another if that has ended
 * Memory    the ring, a pool of send buffers (link.h), the links; of each that was dropped 2 KiB
 * Waiting   uring_sleep; uring_stop for operations under way in the kernel, which end with their
 *           connections
 * Life      uring_init, uring_add_link for every peer, uring_start, any number of uring_poll /
 *           submit, and lie_down / sleep / get_up, uring_stop, uring_fini
 */
#ifndef LOCUS_NET_URING_H
#define LOCUS_NET_URING_H

#include "net/link.h"

struct uring;

enum { URING_SETUPS = 4 };

struct uring_config {
    struct link_events events;
    unsigned nodes, rank;   /* ranks of peers and culprits are below `nodes` */
    size_t entry_bytes_max; /* of the largest entry of any table */
    double peer_timeout_s;
    /* What may wait to be sent on all links together: beyond that each link fails that has more than
     * its part of it, in equal parts. 0: there is no such bound. */
    size_t queued_max;
    bool has_repairs;    /* nodes survive the loss of another: link_queued_max() */
    uint32_t membership; /* in the headers of frames */
    bool is_shm; /* links to nodes of this host go through shared memory, if there is some */
    unsigned first_setup; /* without the newest kernels' ways of setting up a ring; for tests */
};

/* Returns 0, or a negative errno with the sentence in locus_error(), which says what was refused and
 * which setting to change (kernel.io_uring_disabled, ulimit -n, ulimit -l). */
int uring_init(struct uring **out, const struct uring_config *);
/* Would so many uring_init succeed together, as far as rings are concerned? To be asked before there
 * are connections. */
int uring_check(unsigned nodes, unsigned rings);
/* NULL is allowed. */
void uring_fini(struct uring *);

/* Takes over a connected, authenticated TCP socket (tcp.h): before the start; or later on the ring's
 * thread, but not within uring_poll, after an earlier link to that peer was dropped. Returns 0, or
 * -ENOMEM: then the descriptor still belongs to the caller. */
int uring_add_link(struct uring *, unsigned peer, int fd, struct link **out);

/* Its peer is no member any more: ends the connection, and what was received and not yet handled is
 * lost. Nothing can be sent there. The ring's thread, but not within uring_poll. */
void uring_drop_link(struct uring *, struct link *);

/* Begins to receive and to send heartbeats. A peer's silence counts from its first message, and once
 * all nodes have started, which any thread says. Returns 0, or a negative errno with the sentence. */
int uring_start(struct uring *, uint64_t now_ns);
void uring_all_run(struct uring *);

/* Handles what has completed, without a system call if nothing has; then reports links that failed.
 * Returns how many things there were to do. `now_ns`: CLOCK_MONOTONIC. */
unsigned uring_poll(struct uring *, uint64_t now_ns);
/* Passes everything flushed to the kernel, and lets links receive again: one system call for all
 * links (up to a few hundred), none if there is nothing to do. */
void uring_submit(struct uring *);
/* Submits, and lets peers wake us. False: there is something to do, and nobody lies down. */
bool uring_lie_down(struct uring *);
/* Sleeps until something completes, uring_wake, or `until_ns`; may end earlier. Meanwhile another
 * thread may have the links (actors/turn.h). */
void uring_sleep(struct uring *, uint64_t until_ns);
void uring_get_up(struct uring *);

/* Without the ring, for whoever has the links while its thread sleeps. Are all links open, and go
 * through memory? Then these do there what those above do; what fails, the thread will report. */
bool uring_is_shm(const struct uring *);
unsigned uring_poll_shm(struct uring *, uint64_t now_ns);
void uring_give_shm(struct uring *);
bool uring_lie_down_shm(struct uring *);

/* Ends the current uring_sleep or, if none is under way, the next one, unless a uring_poll before
 * that reports it as a thing to do. Any thread. */
void uring_wake(struct uring *);

/* That all links have sent, those included that were dropped. */
uint64_t uring_bytes_sent(const struct uring *);
/* Bytes of the links' send buffers. Any thread. */
uint64_t uring_buffer_bytes(const struct uring *);

/* Heartbeats and silence: must be called at uring_next_tick_ns, and may be called earlier. If the
 * call is late because this thread did not run, the delay does not count as a peer's silence. */
void uring_tick(struct uring *, uint64_t now_ns);
uint64_t uring_next_tick_ns(const struct uring *);

/* Ends the connections at once. For the last bytes to arrive, wait for link_is_drained and
 * link_peer_is_gone before. The last call of the reactor's thread, unless that calls uring_fini. */
void uring_stop(struct uring *);

#endif
