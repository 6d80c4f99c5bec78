/*
 * forked.h - what a child of fork() without exec lets go.
 *
 * A connection ends when its last descriptor is closed: with copies in a child, peers would not
 * notice the parent's death before the time-out. So those of links and of what listens are closed
 * there before fork() returns. The node belongs to the parent alone: what watches for children sees
 * to it that every call of a child is refused.
 *
 * Callers   whoever opens a socket or a ring of a node, on any thread; locus.c watches
 * Memory    a byte a descriptor of the process; the caller's for those who watch
 * Waiting   for a lock that is held for a moment
 * Life      forked_register, and forked_unregister before the descriptor is closed
 */
#ifndef LOCUS_NET_FORKED_H
#define LOCUS_NET_FORKED_H

/* Children will close the descriptor; once more changes nothing. 0 or -ENOMEM: they keep it. */
int forked_register(int fd);
/* They no longer will: it is about to be closed. */
void forked_unregister(int fd);
/* Does so, and closes it. */
void forked_end(int fd);

/* Calls `call` in each child, before fork() returns there. It may only write to memory. */
struct forked_watch {
    void (*call)(void *context);
    void *context;
    struct forked_watch *next;
};
void forked_watch(struct forked_watch *);
/* Does nothing with one that does not watch. */
void forked_unwatch(struct forked_watch *);

#endif
