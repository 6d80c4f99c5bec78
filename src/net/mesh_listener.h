/*
 * mesh_listener.h - where a node listens for its peers, and the address that it tells them.
 *
 * Callers   the thread that opens a node, before it joins; mesh_connect ends the listening
 * Memory    none
 * Waiting   for the resolver, to the deadline
 * Life      none; the descriptor is the caller's
 */
#ifndef LOCUS_NET_MESH_LISTENER_H
#define LOCUS_NET_MESH_LISTENER_H

#include "net/mesh.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Listens for peers at `listen`: "host:port", "host" or ":port". The host is a name, an interface
 * ("eth0"), or an IPv4 or IPv6 address ("[::1]:80"); port 0 or no port means any. If `listen` is
 * NULL or only a port, the host is the address from which this machine reaches `rendezvous`
 * ("host:port"): loopback, if the rendezvous is there, and with `loopback_only` nowhere else.
 * `address` is what to tell the peers; if `listen` means all interfaces, its host follows from the
 * same rule. Returns 0, or a negative errno value with the sentence in locus_error(). The
 * descriptor belongs to the caller.
 */
struct mesh_place {
    const char *listen, *rendezvous;
    bool loopback_only;   /* unless `listen` has a host: the cluster has no secret */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; of waiting for a resolver that does not answer */
};
/* Does `listen` name a host? Then the node listens there, with or without a secret. */
bool mesh_is_told_where(const char *listen);
int mesh_listen(const struct mesh_place *, int *listener, char address[MESH_ADDRESS_MAX]);

#endif
