/*
 * common.h - common memory: bytes each way between two nodes of one host, in memory that both have
 * mapped.
 *
 *   memory  a memfd, sealed: nobody can change its size. The second process opens it by the first
 *           one's /proc/PID/fd, so both must be of one user and see the same processes: what says
 *           whether they may is their place
 *   rings   one each way: the writer moves `written`, the reader moves `read`; neither believes the
 *           other's more than that between the two lies no more than a ring has
 *   sleep   who sleeps says so in the memory; whoever then has something for it, bytes or room, must
 *           wake it by other means (a byte on the connection)
 *
 * Callers   the link's thread, both ends; common_unread on any thread
 * Memory    two rings and a page, all there from the beginning; the peer's process has the same
 *           ones
 * Waiting   never
 * Life      common_create at one end, common_open at the other, then common_close at the first;
 *           common_free at both. What was written can be read after the writer has died
 */
#ifndef LOCUS_NET_COMMON_H
#define LOCUS_NET_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
    COMMON_RING_MAX = 256 << 10, /* stays in a core's cache */
    COMMON_RING_MIN = 16 << 10,
    COMMON_NODE_BYTES = 2 << 20, /* of all rings of a shard one way, while they are no smaller */
    COMMON_TEXT_BYTES = 96,      /* of a place, or of a name */
};

struct common;

/* Where this process is. false: it has no common memory. */
bool common_place(char place[COMMON_TEXT_BYTES]);

/* Of a ring, a power of two: smaller in larger clusters. */
size_t common_ring_bytes(unsigned nodes);

/* NULL: not to be had; the links stay as they are. */
struct common *common_create(size_t ring_bytes, char name[COMMON_TEXT_BYTES]);
/* NULL: `name` is none of ours, has rings of another size, or cannot be opened. */
struct common *common_open(size_t ring_bytes, const char *name);
/* The other one has it: nobody else can open it. */
void common_close(struct common *);
void common_free(struct common *); /* NULL is allowed */

/* As many bytes as there is room for, or there are. -EBADMSG: the peer wrote nonsense beside the
 * rings. */
ssize_t common_write(struct common *, const struct iovec *, unsigned pieces);
ssize_t common_read(struct common *, void *to, size_t bytes);
ssize_t common_room(struct common *, size_t wanted); /* exact, if it is less than that */
/* Bytes that the peer has not read. */
size_t common_unread(const struct common *);

/* After writing and reading: does the peer sleep, and wait for that? Says so once a sleep. */
bool common_must_wake(struct common *);
/* This end is about to sleep; it must not if common_has_news() afterwards. `wants_room`: it has
 * more to write. */
void common_sleep(struct common *, bool wants_room);
bool common_has_news(struct common *, bool wants_room);
void common_awake(struct common *);

#endif
