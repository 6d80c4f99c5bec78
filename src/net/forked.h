/*
 * forked.h - descriptors that a child must not keep open after fork() without exec.
 *
 * A connection ends when its last descriptor is closed. A forked child has copies of its parent's
 * descriptors, so the peers would not notice the parent's death before the time-out. Therefore they
 * are closed in a child before fork() returns there. The node belongs to the parent alone: the
 * child must not use its copy.
 *
 * Callers   uring.c, on any thread
 * Memory    4 bytes a descriptor
 * Waiting   for a lock that is held for a moment
 * Life      forked_close, and forked_keep before the descriptor is closed
 */
#ifndef LOCUS_NET_FORKED_H
#define LOCUS_NET_FORKED_H

/* Children will close the descriptor. 0 or -ENOMEM. */
int forked_close(int fd);
/* They no longer will: it is about to be closed. */
void forked_keep(int fd);

#endif
