/*
 * proxy.h - a slow, stuck or broken network on one machine: bytes of TCP connections on their way
 * through a thread.
 *
 * A proxy accepts connections and forwards what they carry to where its `dial` connects to, in
 * order and unchanged, after a delay. Told so, it stalls a direction (reads and forwards nothing:
 * the sender soon finds the connection full), or cuts what there is. What it is told
 * holds for all its connections, and also for later ones.
 *
 * Callers   any thread
 * Memory    what is under way in it: at most PROXY_QUEUE_BYTES a connection and direction
 * Waiting   never; proxy_free for its thread
 * Life      proxy_new ... proxy_free
 */
#ifndef LOCUS_TEST_PROXY_H
#define LOCUS_TEST_PROXY_H

#include <stdbool.h>
#include <stddef.h>

enum {
    PROXY_QUEUE_BYTES = 64 << 20,   /* what a delay of 50 ms keeps under way at 1 GB/s */
    PROXY_SOCKET_BYTES = 256 << 10, /* so that a stall is felt soon */
    PROXY_CONNECTIONS_MAX = 64,
};

enum proxy_direction { PROXY_FORTH, PROXY_BACK }; /* from who connected, and to them */

struct proxy;

/* Takes over a listening socket. `dial` returns a connected one, or -1: then the connection is
 * refused. It is called on the proxy's thread. */
struct proxy *proxy_new(int listener, int (*dial)(void *context), void *context);
void proxy_free(struct proxy *);

void proxy_delay(struct proxy *, double seconds); /* each direction, of what is read from now on */
void proxy_stall(struct proxy *, enum proxy_direction, bool);
/* Resets all connections; later ones are forwarded. */
void proxy_cut(struct proxy *);

#endif
