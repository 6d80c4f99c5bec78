/*
 * dial.h - one attempt to connect to rank 0.
 *
 * Memory    only the stream outlives the call
 * Waiting   until the connection is made or refused, or for `timeout_ns`
 * Life      none
 */
#ifndef LOCUS_MEMBERSHIP_DIAL_H
#define LOCUS_MEMBERSHIP_DIAL_H

#include <nng/nng.h>
#include <stdint.h>

/* `url`: "tcp://127.0.0.1:7777". Returns 0, and the stream belongs to the caller; or an error of
 * nng. */
int rendezvous_dial(const char *url, uint64_t timeout_ns, nng_stream **stream);

#endif
