/*
 * uring.h - the io_uring of one reactor: its links, its wake-up, its sleep. All io_uring calls are
 * in uring.c.
 *
 * Features (SINGLE_ISSUER, DEFER_TASKRUN, COOP_TASKRUN, ...) are probed, newest first, and left out
 * where the kernel refuses them. One receive and one send at a time a link, both from and to linear
 * memory: that is fastest for a request that waits for its answer, and as fast as any for streams.
 *
 * Callers   the reactor's thread alone, from uring_start on; before that whoever opens the node;
 *           uring_wake from any thread. uring_fini on the reactor's thread, or on any other when
 *           that thread has ended
 * Memory    the ring, a pool of send buffers (link.h), the links
 * Waiting   uring_wait; uring_stop for what the kernel has under way, which the end of its
 *           connections ends
 * Life      uring_init, uring_add_link for every peer, uring_start, any number of uring_poll /
 *           submit / wait, uring_stop, uring_fini
 */
#ifndef LOCUS_NET_URING_H
#define LOCUS_NET_URING_H

#include "net/link.h"

struct uring;

/* `nodes`: of the cluster; peers and culprits are below. `entry_bytes_max`: of the largest entry of
 * any table. 0, or a negative errno with the sentence in locus_error(): what was refused and which
 * setting to change (kernel.io_uring_disabled, ulimit -n, ulimit -l). */
int uring_init(struct uring **out, const struct link_events *, unsigned nodes,
               size_t entry_bytes_max, double peer_timeout_s);
/* The same that leaves out the newest kernels' ways of setting up a ring; tests run on each of
 * them. */
enum { URING_SETUPS = 4 };
int uring_open(struct uring **out, const struct link_events *, unsigned nodes,
               size_t entry_bytes_max, double peer_timeout_s, unsigned first_setup);
/* Would that succeed, as far as the ring goes? To be asked before there are connections. */
int uring_check(unsigned nodes);
/* NULL is allowed. */
void uring_fini(struct uring *);

/* Takes over a connected, authenticated TCP socket (sets no delay, how it tries again, and
 * blocking: the ring does the waiting; cubic on loopback, docs/running.md). 0, or -ENOMEM: the
 * descriptor is still the caller's. */
int uring_add_link(struct uring *, unsigned peer, int fd, struct link **out);

/* The cluster view that frames carry from now on; before uring_start, or on the reactor's
 * thread. */
void uring_set_view(struct uring *, uint32_t view);

/* Peers let what they have from us answer for so long after they have heard us: an idle link speaks
 * so much more often. Before uring_start. */
void uring_speak_for(struct uring *, double staleness_s);

/* Begins receiving, and heartbeats; a peer's silence is counted from the first that it says. 0, or
 * a negative errno with the sentence. */
int uring_start(struct uring *, uint64_t now_ns);

/* Every node has started: the silence of a peer that has said nothing yet is counted from now. Any
 * thread. */
void uring_all_run(struct uring *);

/* Handles what has completed, without waiting and, when nothing has, without a system call; then
 * tells of links that failed. Returns how many things there were to do. `now_ns`:
 * CLOCK_MONOTONIC. */
unsigned uring_poll(struct uring *, uint64_t now_ns);
/* Hands everything flushed to the kernel, and lets links receive again: one system call for all
 * links (of a few hundred at least), none when there is nothing. */
void uring_submit(struct uring *);
/* Sleeps until something completes, uring_wake, or `until_ns`; may end earlier. Submits first. */
void uring_wait(struct uring *, uint64_t until_ns);
/* Ends the current uring_wait or, when none is under way, the next, unless a uring_poll before that
 * counts it as one of the things to do. From any thread; one write to an eventfd. */
void uring_wake(struct uring *);

/* Of the buffers for what its links send. Any thread. */
uint64_t uring_buffer_bytes(const struct uring *);

/* Heartbeats and silence: to be called when uring_next_tick_ns has come, in between at will. Time
 * by which it comes late, because this thread did not run, does not count as a peer's silence. */
void uring_tick(struct uring *, uint64_t now_ns);
uint64_t uring_next_tick_ns(const struct uring *);

/* Ends the connections at once: for the last bytes to arrive, wait for link_is_drained and
 * link_peer_is_gone before. The last thing that the reactor's thread does with the ring, unless it
 * calls uring_fini; without either, the kernel lets go of the connections some time after
 * uring_fini. */
void uring_stop(struct uring *);

#endif
