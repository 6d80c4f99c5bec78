/*
 * outbox.h - the peers for which a shard has written entries since their last frame, and when these
 * entries leave: at the end of the turn; or, if all of them can wait (shard.h), when the first
 * can wait no longer. Entries of later turns leave with them.
 *
 * Callers   the reactor, or a simulation, on the shard's thread
 * Memory    24 bytes a node
 * Waiting   never
 * Life      outbox_init, any use, outbox_fini
 */
#ifndef LOCUS_ACTORS_OUTBOX_H
#define LOCUS_ACTORS_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

struct outbox {
    struct outbox_peer {
        /* the frame waits; UINT64_MAX: it has left, or leaves at the end of this turn */
        uint64_t until_ns;
        bool leaves; /* it is in the list of those that leave; */
        bool waits;  /*   of those that wait, or did until they left with something else */
    } * peer;        /* [nodes] */
    unsigned *leaving, *waiting;
    unsigned leaving_count, waiting_count;
    uint64_t until_ns; /* nothing that waits must leave before this */
};

/* 0 or -ENOMEM. */
int outbox_init(struct outbox *, unsigned nodes);
void outbox_fini(struct outbox *);

/* An entry for the peer was written that can wait until then; 0: that cannot wait. */
static inline void outbox_say(struct outbox *o, unsigned peer, uint64_t until_ns)
{
    struct outbox_peer *p = &o->peer[peer];
    if (p->leaves) return;
    if (until_ns == 0) {
        p->leaves = true;
        p->until_ns = UINT64_MAX;
        o->leaving[o->leaving_count++] = peer;
        return;
    }
    if (!p->waits) o->waiting[o->waiting_count++] = peer;
    p->waits = true;
    if (until_ns < p->until_ns) p->until_ns = until_ns;
    if (until_ns < o->until_ns) o->until_ns = until_ns;
}

/* The turn ends: calls the function for each peer whose frame leaves now. The cost depends on what
 * was written, and now and then on what waits. */
void outbox_flush(struct outbox *, uint64_t now_ns, void (*leave)(void *context, unsigned peer),
                  void *context);

/* The latest time for the next flush. */
static inline uint64_t outbox_due_ns(const struct outbox *o)
{
    return o->leaving_count > 0 ? 0 : o->until_ns;
}

#endif
