/*
 * shared.h - bytes each way between two nodes of one host, in memory that both have mapped.
 *
 *   file   of /dev/shm, readable by its owner alone, removed as soon as both have mapped it
 *   rings  one each way: the writer moves `written`, the reader moves `read`; neither believes the
 *          other's more than that between the two lies no more than a ring has; nor that the file
 *          stays as long as it is: a SIGBUS that comes of that is handled here, others by whoever
 *          did before
 *   sleep  who sleeps says so in the memory; whoever then has something for it, bytes or room, must
 *          wake it by other means (a byte on the connection)
 *
 * Two processes see the same files if they have booted together and have the same /dev/shm mounted:
 * that is their place. Containers may share it.
 *
 * Callers   the link's thread, both ends; shared_unread on any thread
 * Memory    two rings and a page, all there from the beginning; the peer's process has the same
 *           ones
 * Waiting   never
 * Life      shared_create at one end, shared_open at the other; shared_free at both. What was
 *           written can be read after the writer has died
 */
#ifndef LOCUS_NET_SHARED_H
#define LOCUS_NET_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
    SHARED_RING_MAX = 256 << 10, /* stays in a core's cache */
    SHARED_RING_MIN = 16 << 10,
    SHARED_NODE_BYTES = 2 << 20, /* of all rings of a shard one way, while they are no smaller */
    SHARED_TEXT_BYTES = 96,      /* of a place, or of a name */
};

struct shared;

/* Where this process is. false: it has no memory to share. */
bool shared_place(char place[SHARED_TEXT_BYTES]);

/* Of a ring, a power of two: smaller in larger clusters. */
size_t shared_ring_bytes(unsigned nodes);

/* NULL: not to be had; the links stay as they are. Names that processes of this host left behind
 * when they died are removed. */
struct shared *shared_create(size_t ring_bytes, char name[SHARED_TEXT_BYTES]);
/* NULL: `name` is none of ours, has rings of another size, or cannot be opened. */
struct shared *shared_open(size_t ring_bytes, const char *name);
void shared_free(struct shared *); /* NULL is allowed */

/* As many bytes as there is room for, or there are. -EBADMSG: the peer wrote nonsense beside the
 * rings, or cut the file. */
ssize_t shared_write(struct shared *, const struct iovec *, unsigned pieces);
ssize_t shared_read(struct shared *, void *to, size_t bytes);
size_t shared_room(struct shared *);
/* Bytes that the peer has not read. */
size_t shared_unread(const struct shared *);

/* After writing and reading: does the peer sleep, and wait for that? Says so once a sleep. */
bool shared_must_wake(struct shared *);
/* This end is about to sleep; it must not if shared_has_news() afterwards. `wants_room`: it has
 * more to write. */
void shared_sleep(struct shared *, bool wants_room);
bool shared_has_news(struct shared *, bool wants_room);
void shared_awake(struct shared *);

#endif
