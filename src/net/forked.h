/*
 * forked.h - what a child that was forked and not executed must not hold open.
 *
 * A connection ends when its last descriptor is closed. A child that was forked has copies of its
 * parent's, so that the peers would not notice the parent's death before the time-out. So in a
 * child they are closed, before fork() returns there. The node belongs to the parent alone: the
 * child must not use its copy.
 *
 * Callers   uring.c, on any thread
 * Memory    4 bytes a descriptor
 * Waiting   for a lock that is held for a moment
 * Life      forked_close, and forked_keep before the descriptor is closed
 */
#ifndef LOCUS_NET_FORKED_H
#define LOCUS_NET_FORKED_H

/* A child closes it. 0 or -ENOMEM. */
int forked_close(int fd);
/* No longer: it is about to be closed. */
void forked_keep(int fd);

#endif
