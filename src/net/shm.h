/*
 * shm.h - shared memory: bytes each way between two nodes of one host, in memory that both have
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
 * Callers   the link's thread, both ends; shm_unread on any thread
 * Memory    two rings and a page, all there from the beginning; the peer's process has the same
 *           ones
 * Waiting   never
 * Life      shm_create at one end, shm_attach at the other, then shm_close at the first;
 *           shm_free at both. What was written can be read after the writer has died
 */
#ifndef LOCUS_NET_SHM_H
#define LOCUS_NET_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
    SHM_RING_MAX = 256 << 10, /* stays in a core's cache */
    SHM_RING_MIN = 16 << 10,
    SHM_NODE_BYTES = 2 << 20, /* of all rings of a shard one way, while they are no smaller */
    SHM_TEXT_BYTES = 96,      /* of a place, or of a name */
};

struct shm;

/* Where this process is. false: it has no shared memory. */
bool shm_place(char place[SHM_TEXT_BYTES]);

/* Of a ring, a power of two: smaller in larger clusters. */
size_t shm_ring_bytes(unsigned nodes);

/* NULL: not to be had; the links stay as they are. */
struct shm *shm_create(size_t ring_bytes, char name[SHM_TEXT_BYTES]);
/* NULL: `name` is none of ours, has rings of another size, or cannot be opened. */
struct shm *shm_attach(size_t ring_bytes, const char *name);
/* The other one has it: nobody else can open it. */
void shm_close(struct shm *);
void shm_free(struct shm *); /* NULL is allowed */

/* As many bytes as there is room for, or there are. -EBADMSG: the peer wrote nonsense beside the
 * rings. */
ssize_t shm_write(struct shm *, const struct iovec *, unsigned pieces);
ssize_t shm_read(struct shm *, void *to, size_t bytes);
ssize_t shm_room(struct shm *, size_t wanted); /* exact, if it is less than that */
/* Bytes that the peer has not read. */
size_t shm_unread(const struct shm *);

/* After writing and reading: does the peer sleep, and wait for that? Says so once a sleep. */
bool shm_must_wake(struct shm *);
/* This end is about to sleep; it must not if shm_has_news() afterwards. `wants_room`: it has
 * more to write. */
void shm_sleep(struct shm *, bool wants_room);
bool shm_has_news(struct shm *, bool wants_room);
void shm_awake(struct shm *);

#endif
