/*
 * descriptor.h - the descriptors of nng's streams and listeners, which nng does not reveal.
 *
 * A stream's is the socket of this process with the same two addresses; a listener's is the one
 * that listens at its address.
 *
 * Memory    none
 * Waiting   never; it reads the list of descriptors
 * Life      none: nng closes the descriptor when it likes, after the stream or listener was closed
 */
#ifndef LOCUS_MEMBERSHIP_DESCRIPTOR_H
#define LOCUS_MEMBERSHIP_DESCRIPTOR_H

#include <nng/nng.h>

/* -1: it is not found. */
int descriptor_of_stream(nng_stream *);
int descriptor_of_listener(nng_stream_listener *);

#endif
