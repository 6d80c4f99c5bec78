/*
 * server.h - rank 0's side of a rendezvous: it counts the members that arrive and leave, and
 * decides which was lost first; admission.h decides who may join. It talks to the member of its own
 * process as to all others, over a connection.
 *
 * Memory    its own, allocated at start, except messages and connections, which the acceptor limits
 * Waiting   start: up to two seconds for a port to become free. stop: for members to read the last
 *           message, as said there
 * Life      server_start ... server_stop
 */
#ifndef LOCUS_CLUSTER_SERVER_H
#define LOCUS_CLUSTER_SERVER_H

#include "net/address.h"
#include "cluster/agreement.h"

#include <stdint.h>

struct server;

/* Listens at the first address where that is possible. `deadline_ns`: of joining. Returns 0,
 * -EADDRINUSE or another negative errno, with the sentence in locus_error(). */
int server_start(struct server **out, const struct rendezvous_config *,
                 const struct rendezvous_address *, uint64_t deadline_ns);
/* Returns when all members that were told of the end (refused, lost, left) have read that, after at
 * most a second; or peer_timeout_s, if all have left in order. */
void server_stop(struct server *);

#endif
