/*
 * retries.h - makes a stream of nng try again soon after an outage, as links do (net/silence.h).
 *
 * nng does not reveal the descriptor of a stream. It is the socket of this process with the same
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

/* Does nothing if the descriptor is not found, or the kernel is too old. */
void retries_bound(nng_stream *);

#endif
