/*
 * mailbox.h - what comes to a shard from workers, and when what it says to peers leaves.
 *
 * Callers   the worker's thread puts into a mailbox; all else is the shard's thread
 * Memory    8 bytes a place of a mailbox, 24 a node of an outbox, at init
 * Waiting   never
 * Life      init, any use, fini
 */
#ifndef LOCUS_ACTORS_MAILBOX_H
#define LOCUS_ACTORS_MAILBOX_H

#include "protocol/request.h"

#include <ck_ring.h>
#include <stdbool.h>
#include <stdint.h>

/* Requests from one worker to one shard, in order: a lock-free queue with one writer and one reader,
 * whom the reactor wakes. It is never full: it has a place for every request of the worker's pool,
 * and a worker whose pool is used up waits for the pool (operation.h). */
enum { MAILBOX_PLACES = 2 * REQUEST_NUMBERS_MAX };

struct mailbox {
    ck_ring_t ring;
    ck_ring_buffer_t *buffer;
};

bool mailbox_init(struct mailbox *); /* false: no memory */
void mailbox_fini(struct mailbox *);
void mailbox_put(struct mailbox *, struct request *);
struct request *mailbox_take(struct mailbox *); /* NULL: empty */
unsigned mailbox_count(struct mailbox *);       /* for the reader: there are, at least */

/* The peers for which a shard has written entries since their last frame, and when these entries
 * leave: at the end of the turn; or, if all of them can wait (protocol/shard.h), when the first can wait
 * no longer. Entries of later turns leave with them. */
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
