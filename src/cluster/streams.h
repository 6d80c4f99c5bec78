/*
 * streams.h - what nng's byte streams lack: a start that fails with a sentence, one attempt to
 * connect, and the descriptors, which nng does not reveal.
 *
 * A stream's descriptor is the socket of this process with the same two addresses; a listener's is
 * the one that listens at its address. nng closes it when it likes, after the stream or listener
 * was closed.
 *
 * Memory    only the stream outlives streams_dial
 * Waiting   streams_prepare: for threads that are tried, once; streams_dial: until the connection
 *           is made or refused, or for `timeout_ns`
 * Life      streams_prepare before anything of a node that has others
 */
#ifndef LOCUS_CLUSTER_STREAMS_H
#define LOCUS_CLUSTER_STREAMS_H

#include "net/address.h"

#include <nng/nng.h>

/* Starts nng, if nobody has, without signals, which its threads inherit otherwise. 0, or with the
 * sentence in locus_error(): -EPERM, this process was forked by one that has used nng, which would
 * end it; -EAGAIN, too few threads; -EMFILE; -ENOMEM. */
int streams_prepare(void);
/* So many threads does nng start there. */
long streams_threads(long processors);
/* `url`: "tcp://127.0.0.1:7777". Returns 0, and the stream belongs to the caller; or an error of
 * nng. */
int streams_dial(const char *url, uint64_t timeout_ns, nng_stream **stream);
/* The peer's address: "10.0.0.1:41234". */
void streams_show_peer(nng_stream *, char text[ADDRESS_MAX]);
/* -1: it is not found. */
int streams_descriptor(nng_stream *);
int streams_descriptor_of_listener(nng_stream_listener *);

#endif
