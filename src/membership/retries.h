/*
 * retries.h - a stream of nng tries again soon after an outage, as links do (net/silence.h).
 *
 * nng does not say which descriptor a stream has. It is the socket of this process with the same
 * two addresses.
 *
 * Callers   hub.c
 * Memory    none
 * Waiting   never; it reads the list of descriptors
 * Life      none
 */
#ifndef LOCUS_MEMBERSHIP_RETRIES_H
#define LOCUS_MEMBERSHIP_RETRIES_H

#include <nng/nng.h>

/* Does nothing where the descriptor is not found, or the kernel is too old. */
void retries_bound(nng_stream *);

#endif
