/*
 * reactor.h - the thread of one shard: takes requests from the workers' mailboxes and frames from
 * the links, lets the shard serve them, sends the results, and sleeps when there is nothing to do.
 *
 * A turn handles everything that has arrived, then sends what it produced for each peer, except
 * what can wait (mailbox.h). A reactor polls while it was busy within the last REACTOR_SPIN_NS; then
 * it sleeps in its ring. If there are more threads than cores, it yields its core between polls, so
 * that it does not starve the worker for which it waits. If that is the only worker of a node of one
 * shard, all of whose links go through shared memory, it takes the shard's turns itself while it
 * waits, and the thread sleeps (turn.h); for what needs the ring the thread is woken.
 *
 * Callers   the thread that opens the node; reactor_post and reactor_wake from workers' threads,
 *           reactor_lose and reactor_see from any
 * Memory    mailboxes, the shard's state, the ring and its links; all at open
 * Waiting   reactor_stop: at most REACTOR_GOODBYE_NS for the peers' goodbye; reactor_snapshot:
 *           REACTOR_SNAPSHOT_S
 * Life      reactor_open, reactor_start, …, reactor_stop (when no worker posts any more),
 *           reactor_fini, reactor_free
 */
#ifndef LOCUS_ACTORS_REACTOR_H
#define LOCUS_ACTORS_REACTOR_H

#include "actors/actor.h"
#include "base/pinning.h"
#include "net/link.h"
#include "protocol/change.h"
#include "protocol/request.h"
#include "store/store.h"

struct reactor;

#define REACTOR_SPIN_NS UINT64_C(50000)
#define REACTOR_GOODBYE_NS UINT64_C(1000000000)
/* Processor time to send a frame and receive one: half of what a round trip of TCP takes between two
 * polling processes. Measuring it here would include other threads on this processor. */
#define REACTOR_ROUND_NS UINT64_C(4200)
/* Processor time for a KiB, sent or received: half of what both take in bulk, with large frames. */
#define REACTOR_KIB_NS UINT64_C(230)

struct reactor_config {
    const struct node_plan *plan; /* stays valid */
    unsigned shard;               /* its number */
    /* [nodes] connected sockets, taken over; -1: our own rank, and who is no member now */
    const int *fd;
    double peer_timeout_s;
    struct pinning_place place; /* of the thread */
    bool yields;                /* a worker may need this core */
    /* On the reactor's thread; must not wait. A worker's request is done, with 0 or a negative errno;
     * a link has found that a node is lost. */
    void (*completed)(struct request *, int rc);
    void (*lost)(void *context, unsigned rank, const char *reason);
    /* what reactor_see() began is over; NULL: nothing is survived */
    void (*repaired)(void *context, uint32_t view);
    void *context;
};

/* Returns 0, or a negative errno with the sentence; then it closes the sockets that it has not taken
 * over. *out, which is NULL if there was no memory, must be ended and freed in either case: other
 * shards wait for every shard that the store knows. */
int reactor_open(const struct reactor_config *, struct reactor **out);
int reactor_start(struct reactor *);
/* All other nodes have started, too: from now on a peer that was never heard counts as silent. Any
 * thread. */
void reactor_all_run(struct reactor *);
/* Says goodbye to all peers, waits for theirs, ends the thread. */
void reactor_stop(struct reactor *);
/* Ends the shard. Call it for all reactors of a node before freeing any. */
void reactor_fini(struct reactor *);
void reactor_free(struct reactor *); /* NULL is allowed */

/* Passes a request to the shard, on the thread of its worker. */
void reactor_post(struct reactor *, struct request *);

/* A worker that waits for the only shard of its node: begins before it posts what it waits for;
 * takes turns itself, until that is done or it would rather sleep; and ends. reactor_help_begin
 * returns false if it may not: it is one of several, or may be run later than the thread.
 * reactor_help: if there was nothing to do, or the turn is not to be had. */
bool reactor_help_begin(struct reactor *);
bool reactor_help(struct reactor *);
void reactor_help_end(struct reactor *);

/* Wakes the shard for intents of this node's workers. Any thread. */
void reactor_wake(struct reactor *);

/* Node `rank` was lost: from now on all requests fail with -ECONNRESET, and the other peers are
 * told why we leave. Any thread; only the first call has an effect. */
void reactor_lose(struct reactor *, unsigned rank, const char *reason);

/* The members have changed, and the others go on: drops the link to a node that is lost, or takes
 * over the connected socket to one that joins (else -1); and begins the shard's repair. Any thread;
 * the next one after the end of this, or that the node that leaves by this one is lost: waits until
 * the shard has begun with this one. */
void reactor_see(struct reactor *, struct change, int fd);

/* Its shard, for what any thread may read of it. */
const struct shard *reactor_shard(const struct reactor *);
/* What the link to a peer has counted, and its load: of ourselves zeros. Any thread. */
void reactor_add_link(const struct reactor *, unsigned peer, struct link_stats *to);
struct link_load reactor_load(const struct reactor *, unsigned peer);
/* Of its thread: processor time, 0 unless it runs; how often it has gone to sleep; bytes of buffers
 * for sending. Any thread, but not during reactor_stop. */
struct reactor_figures {
    double cpu_s;
    uint64_t sleeps, buffer_bytes;
};
struct reactor_figures reactor_figures(const struct reactor *);
/* What the shard knows of a key. One thread asks and waits. Returns 0, or -ETIMEDOUT: the shard had
 * no time. Not during reactor_stop. */
enum { REACTOR_SNAPSHOT_S = 2 };
int reactor_snapshot(struct reactor *, uint64_t index, struct key_snapshot *);

#endif
