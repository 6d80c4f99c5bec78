/*
 * server.h - rank 0's part of a rendezvous: it counts who has arrived and who leaves, and says who
 * was lost first; whom to let in is up to the admission. It speaks with the member of its own
 * process as with all others, through a connection.
 *
 * Callers   rendezvous.c, on rank 0
 * Memory    its own, all allocated at start but for messages and connections, which the acceptor
 *           limits
 * Waiting   start: up to two seconds for a port to become free. stop: for members to hear the last
 *           word, as said there
 * Life      rendezvous_server_start ... rendezvous_server_stop
 */
#ifndef LOCUS_MEMBERSHIP_SERVER_H
#define LOCUS_MEMBERSHIP_SERVER_H

#include "membership/agreement.h"
#include "membership/address.h"

#include <stdint.h>

struct rendezvous_server;

/* Listens at the first of the addresses where that is possible. `deadline_ns`: of joining. 0,
 * -EADDRINUSE, or another negative errno, with the sentence in locus_error(). */
int rendezvous_server_start(struct rendezvous_server **out, const struct rendezvous_config *,
                            const struct rendezvous_address *, uint64_t deadline_ns);
/* Returns when all members that were told the end (refused, lost, left) have heard it, a second
 * later at most; peer_timeout_s when all have left in order. */
void rendezvous_server_stop(struct rendezvous_server *);

#endif
