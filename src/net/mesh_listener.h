/*
 * mesh_listener.h - where a node listens for its peers, and what it tells them of that.
 *
 * Callers   whoever opens a node, before it joins; mesh_connect ends the listening
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
 * Listens for peers at `listen`: "host:port", "host" or ":port", the host a name, an interface
 * ("eth0"), an IPv4 or an IPv6 address ("[::1]:80"), port 0 or none for any. NULL, or a port only:
 * at the address from which this machine reaches `rendezvous` ("host:port"), so on loopback when
 * the rendezvous is there; `loopback_only`: and nowhere else. `address` is what to tell the peers;
 * for a `listen` of all interfaces it has the host by that same rule. 0, or a negative errno value
 * with the sentence in locus_error(). The descriptor is the caller's.
 */
struct mesh_place {
    const char *listen, *rendezvous;
    bool loopback_only;   /* unless `listen` has a host: the cluster has no secret */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; of waiting for a resolver that does not answer */
};
/* Does `listen` name a host? Then that is where to listen, with or without a secret. */
bool mesh_is_told_where(const char *listen);
int mesh_listen(const struct mesh_place *, int *listener, char address[MESH_ADDRESS_MAX]);

#endif
