/*
 * mailbox.h - what comes to a shard from workers, and when what it says to peers leaves.
 *
 * Callers   the worker's thread puts into a mailbox; all else is the shard's thread
 * Memory    2 KiB a mailbox, the caller's; 24 bytes a node of an outbox, at init
 * Waiting   never
 * Life      a mailbox is zeroed; an outbox: init, any use, fini
 */
#ifndef LOCUS_ACTORS_MAILBOX_H
#define LOCUS_ACTORS_MAILBOX_H

#include "protocol/request.h"

#include <stdbool.h>
#include <stdint.h>

/* Requests from one worker to one shard, in order: a lock-free queue with one writer and one reader,
 * whom the reactor wakes. It is never full: it has a place for every request of the worker's pool,
 * and a worker whose pool is used up waits for the pool (operation.h). */
struct mailbox {
    unsigned taken; /* ever; the reader's */
    struct request *place[REQUEST_NUMBERS_MAX];
    unsigned put;   /* ever; atomic, the writer's: */
    char apart[60]; /* in a line of its own */
};

static inline void mailbox_put(struct mailbox *m, struct request *r)
{
    m->place[m->put % REQUEST_NUMBERS_MAX] = r;
    __atomic_store_n(&m->put, m->put + 1, __ATOMIC_RELEASE); /* with what the request says */
}

/* For the reader: there are, at least. */
static inline unsigned mailbox_count(const struct mailbox *m)
{
    return __atomic_load_n(&m->put, __ATOMIC_ACQUIRE) - m->taken;
}

/* NULL: empty. */
static inline struct request *mailbox_take(struct mailbox *m)
{
    return mailbox_count(m) ? m->place[m->taken++ % REQUEST_NUMBERS_MAX] : NULL;
}

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
