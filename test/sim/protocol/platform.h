/*
 * platform.h - a cluster in one thread: what cluster.h and reactor.h promise, on virtual time and a
 * network of chance.
 *
 * The second platform of the library: nodes are opened with locus_open(), workers and reactors run
 * as fibers, and locus.c, access.c, operation.c, collective.c, the store and the shards are those
 * that ship. A link keeps the order of its frames and knows no other: latency, jitter, stalls,
 * where frames are cut and how many arrive together differ from seed to seed, from link to link and
 * from frame to frame.
 *
 * Memory    frames, from malloc, until they are delivered
 * Waiting   as fibers
 * Life      platform_begin, locus_open for each node, platform_add_reactors, fibers_run,
 *           locus_close, platform_end
 */
#ifndef LOCUS_SIM_PLATFORM_H
#define LOCUS_SIM_PLATFORM_H

#include "sim/fibers.h"
#include "sim/parts.h"

enum { PLATFORM_NODES_MAX = 8, PLATFORM_SHARDS_MAX = 3, PLATFORM_CHANGES = 8 };

struct platform_frame {
    struct platform_frame *next;
    uint64_t arrives_ns;
    uint32_t capacity;
    struct wire_frame header;
    _Alignas(8) unsigned char body[];
};

/* From one node's shard to the same shard of another. */
struct platform_link {
    struct platform_frame *first, *last; /* on their way */
    struct platform_frame *open;         /* under construction */
    uint64_t until_ns;                   /* the open frame can wait, as far as its shard says */
    /* when the open frame will, UINT64_MAX: nobody flushed it yet */
    uint64_t leaves_ns;
    uint64_t latest_ns; /* arrival of the last frame */
    uint64_t held_ns;   /* nothing arrives before */
    uint64_t latency_ns, jitter_ns;
    bool dead;     /* no entry can be written */
    bool swallows; /* entries can, and never arrive: the other node is gone, and nobody knows yet */
};

/* What the simulation wants to know, NULL: nothing. */
struct platform_hooks {
    /* An entry is complete, and will travel; it has arrived, and will be handled next. */
    void (*sent)(unsigned shard, unsigned from, unsigned to, const struct wire_entry *);
    void (*arrived)(unsigned shard, unsigned from, unsigned to, const struct wire_entry *);
    /* A shard has returned to its reactor. `settled`: no shard of this number on any node is inside
     * a call. */
    void (*returned)(unsigned shard, unsigned node, bool settled);
    /* A shard did not accept a frame. */
    void (*refused)(unsigned shard, unsigned from, unsigned to, const char *why);
    /* A node is lost: what of its frames arrives has been decided. */
    void (*lost)(unsigned node);
    /* A node leaves, with the next view; a shard of it says that others have all that it had. */
    void (*leaves)(unsigned node);
    void (*left)(unsigned shard, unsigned node);
    /* An entry that was sent will never arrive. */
    void (*dropped)(unsigned shard, unsigned from, unsigned to, const struct wire_entry *);
    /* A node that was lost has come back. */
    void (*joined)(unsigned node);
    /* A shard's repair is over; is_first: of those of its number. */
    void (*repaired)(unsigned shard, unsigned node, bool is_first);
};

/* Draws the network's nature. */
void platform_begin(unsigned nodes, unsigned shards, const struct platform_hooks *, struct dice);
/* After the last locus_close(). */
void platform_end(void);

/* Adds a fiber for each reactor. They end when `workers` have called platform_worker_ended() and
 * nothing is under way. */
void platform_add_reactors(unsigned workers);
void platform_worker_ended(void);
void platform_worker_begins(void); /* one more, of a node that has come back */

uint64_t platform_now_ns(void);
struct shard *platform_shard(unsigned node, unsigned shard); /* NULL: the node is not open */
const struct platform_link *platform_link(unsigned shard, unsigned from, unsigned to);

/* All links between two nodes break; the others hear of it some time later. */
void platform_break(unsigned a, unsigned b);
bool platform_is_broken(void);

/* When so many more entries have been sent, the node is lost, as `survives` has it: of what it has
 * sent some still arrives, link by link, the rest never; nothing comes to it; the shards of the
 * others hear of it, each at its own time, and repair. What it was lets it go on for itself until
 * it hears of its own loss. One at a time, and never node 0: else nothing happens. */
void platform_lose(unsigned node, unsigned after);
/* The same, so many entries after the next change of members began, whether that is repaired or not;
 * if this node is gone then, another one. Several: each after a change of its own. */
void platform_lose_too(unsigned node, unsigned after);
uint64_t platform_lost_ns(void); /* when the last one was; 0: none was */
bool platform_is_lost(unsigned node);
/* For a worker's fiber of the node, all of whose workers have closed: locus_leave(), and returns
 * when all others have repaired that; or when the node is lost. */
void platform_leave(unsigned node);
/* It was lost, or the shard has left. */
bool platform_is_gone(unsigned node, unsigned shard);
/* The change that the shard repairs, or has repaired last. */
uint32_t platform_view(unsigned node, unsigned shard);
/* The last change of members; shards may not have heard of it. */
uint32_t platform_changes(void);
/* The change by which a node was lost, or left. */
uint32_t platform_gone_by(unsigned node);
/* Not all shards have repaired the last change. */
bool platform_is_repairing(void);
/* The first of the changes that were under way together when the last one began: it is that one itself
 * if all before it had been repaired. */
uint32_t platform_since(void);

/* A node that was lost comes back, as soon as it may: no repair is under way, and its shards, whose
 * workers have all closed, do nothing. Before locus_open() for it, and behind that. */
bool platform_may_join(unsigned node);
void platform_begins_to_join(unsigned node);
void platform_joins(unsigned node);
/* All its shards have repaired the change with which it came. */
bool platform_has_joined(unsigned node);
/* The node that joins with this shard, which has not repaired that, or was lost before it had;
 * PLATFORM_NODES_MAX: none. */
unsigned platform_newcomer(unsigned shard);

/* For so long nothing arrives at the one node from the other; the node's shards do nothing, while
 * its workers go on. */
void platform_hold(unsigned from, unsigned to, uint64_t ns);
void platform_stop(unsigned node, uint64_t ns);

/* A nap of virtual time, for a fiber. */
void platform_sleep(uint64_t ns);

/* Goes through the entries of a link that are on their way, and those under construction. */
struct platform_walk {
    const struct platform_frame *frame;
    bool was_open;
    struct wire_cursor cursor;
    const struct platform_link *link;
};
struct platform_walk platform_walk(const struct platform_link *);
const struct wire_entry *platform_next(struct platform_walk *);

struct platform_counters {
    uint64_t frames, entries, turns,
        lost_meanwhile; /* nodes, while an earlier change was repaired */
};
struct platform_counters platform_counters(void);

#endif
