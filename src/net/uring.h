/*
 * uring.h - the io_uring of one reactor: its links, its wake-up, its sleep. All io_uring calls are
 * in uring.c.
 *
 * Features (SINGLE_ISSUER, DEFER_TASKRUN, COOP_TASKRUN, ...) are probed, newest first, and left out
 * if the kernel refuses them. Each link has at most one receive and one send under way, both with
 * linear memory: that is fastest for a request that waits for its answer, and as fast as any other
 * way for streams.
 *
 * Callers   from uring_start on the reactor's thread alone, but for what does without the ring
 *           while that sleeps; before that the thread that opens the node; uring_wake from any
 *           thread. uring_fini on the reactor's thread, or on any other after that thread has ended
 * Memory    the ring, a pool of send buffers (link.h), the links
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

/* `nodes`: the size of the cluster; ranks of peers and culprits are below it. `entry_bytes_max`: of
 * the largest entry of any table. `first_setup`: 0, or without the newest kernels' ways of setting
 * up a ring; tests run with each of them. Returns 0, or a negative errno with the sentence in
 * locus_error(), which says what was refused and which setting to change (kernel.io_uring_disabled,
 * ulimit -n, ulimit -l). */
int uring_init(struct uring **out, const struct link_events *, unsigned nodes,
               size_t entry_bytes_max, double peer_timeout_s, unsigned first_setup);
/* What may wait to be sent on all links together: beyond that each link fails that has more than its
 * part of it, in equal parts. Without the call there is no such bound. */
void uring_bound(struct uring *, size_t queued_max);
/* Would so many uring_init succeed together, as far as rings are concerned? To be asked before there
 * are connections. */
int uring_check(unsigned nodes, unsigned rings);
/* NULL is allowed. */
void uring_fini(struct uring *);

/* Takes over a connected, authenticated TCP socket (carrier.h). Returns 0, or -ENOMEM: then the
 * descriptor still belongs to the caller. */
int uring_add_link(struct uring *, unsigned peer, int fd, struct link **out);

/* Sets the cluster view that frames carry from now on; before uring_start, or on the reactor's
 * thread. */
void uring_set_view(struct uring *, uint32_t view);

/* Links to nodes of this host, of which this is `rank`, go through memory from now on (shared.h),
 * if there is some. Before uring_start. */
void uring_share(struct uring *, unsigned rank);

/* Begins to receive and to send heartbeats. A peer's silence counts from its first message. Returns
 * 0, or a negative errno with the sentence. */
int uring_start(struct uring *, uint64_t now_ns);

/* All nodes have started: the silence of a peer that has sent nothing yet counts from now. Any
 * thread. */
void uring_all_run(struct uring *);

/* Handles what has completed, without waiting, and without a system call if nothing has; then
 * reports links that failed. Returns how many things there were to do. `now_ns`:
 * CLOCK_MONOTONIC. */
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
bool uring_is_shared(const struct uring *);
unsigned uring_poll_shared(struct uring *, uint64_t now_ns);
void uring_give_shared(struct uring *);
bool uring_lie_down_shared(struct uring *);

/* Ends the current uring_sleep or, if none is under way, the next one, unless a uring_poll before
 * that reports it as a thing to do. From any thread; one write to an eventfd. */
void uring_wake(struct uring *);

/* Bytes of the links' send buffers. Any thread. */
uint64_t uring_buffer_bytes(const struct uring *);

/* Heartbeats and silence: must be called at uring_next_tick_ns, and may be called earlier. If the
 * call is late because this thread did not run, the delay does not count as a peer's silence. */
void uring_tick(struct uring *, uint64_t now_ns);
uint64_t uring_next_tick_ns(const struct uring *);

/* Ends the connections at once. For the last bytes to arrive, wait for link_is_drained and
 * link_peer_is_gone before. It is the reactor's last call on the ring, unless the reactor calls
 * uring_fini itself. Without either call, the kernel releases the connections some time after
 * uring_fini. */
void uring_stop(struct uring *);

#endif
