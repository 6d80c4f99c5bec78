/*
 * acceptor.h - listens on rank 0 and accepts unauthenticated peers: an accepted connection becomes
 * a channel of the hub, without a rank until the peer has said who it is.
 *
 * Callers   acceptor_tick and _close with the lock of the hub, once that has started
 * Memory    its own, of nng; one channel for each member, and as many others as strangers.h says
 * Waiting   open: up to two seconds for a port to become free. close: for the descriptor to be
 *           closed. stop: for a callback under way
 * Life      acceptor_init, open; accepting begins with the first tick; close, stop, and then fini
 */
#ifndef LOCUS_CLUSTER_ACCEPTOR_H
#define LOCUS_CLUSTER_ACCEPTOR_H

#include "net/address.h"
#include "cluster/hub.h"

struct acceptor {
    struct hub *hub;
    unsigned members;
    nng_stream_listener *listener; /* NULL: no peer can come any more */
    int fd;                        /* of the listener; -1: not found */
    nng_aio *accepting;
    bool is_accepting;
    uint64_t accept_ns; /* when to accept again, if not now */
    uint64_t pause_ns;  /* after each one; 0: none is needed */
    bool lacks_descriptors;
};

/* 0 or -ENOMEM. The hub need not have started. */
int acceptor_init(struct acceptor *, struct hub *, unsigned members);
/* Listens at the first address where that is possible. `deadline_ns`: of joining. Returns 0,
 * -EADDRINUSE or another negative errno, with the sentence in locus_error(). */
int acceptor_open(struct acceptor *, const struct rendezvous_address *, bool loopback_only,
                  uint64_t deadline_ns);
/* Accepts the next peer if it is time. Returns when to call again; HUB_NEVER: no need to. */
uint64_t acceptor_tick(struct acceptor *, uint64_t now_ns);
/* All members are there: who comes now is sent away, so it may wait. */
void acceptor_calm(struct acceptor *);
/* Releases the port; accepted peers stay. May be called twice. */
void acceptor_close(struct acceptor *);
/* Call it without the lock. No callback comes after it has returned. */
void acceptor_stop(struct acceptor *);
void acceptor_fini(struct acceptor *);

#endif
