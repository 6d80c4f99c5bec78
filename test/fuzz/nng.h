/*
 * nng.h - what the rendezvous uses of nng, without sockets: connections that a fuzzer makes, feeds
 * and ends.
 *
 * As with nng, operations end on another thread, one callback at a time here, and never within the
 * call that begins or cancels them.
 *
 * Callers   the fuzzers of the rendezvous; as nng, its code
 * Memory    PEERS_MAX connections, static; what one is sent and has not read: PEER_BYTES
 * Waiting   peer_settle, until nothing more happens by itself
 * Life      nng_reset, then peers come and go, then all of the rendezvous is closed
 */
#ifndef LOCUS_FUZZ_NNG_H
#define LOCUS_FUZZ_NNG_H

#include <stdbool.h>
#include <stddef.h>

enum { PEERS_MAX = 256, PEER_BYTES = 1 << 16 };

void nng_reset(void);

/* A connection to the listener; where there is none, what the node connects to next. Its number, or
 * -1: there are PEERS_MAX already. */
int peer_connect(void);
/* What does not fit is lost. */
void peer_send(int peer, const void *data, size_t bytes);
/* The connection ends when what was sent has been read. */
void peer_end(int peer);
/* At once, as by a reset. */
void peer_reset(int peer);
/* How many bytes the node gets or gives at a time; 0: the peer does not read. */
void peer_pace(int peer, size_t in, size_t out);
/* The last bytes that the node said to it, at most `max`; returns how many. */
size_t peer_heard(int peer, void *data, size_t max);
/* The next accept fails. */
void peer_refuse_next(void);

void peer_settle(void);
/* Until the node has accepted the connection, or made it. */
void peer_await_taken(int peer);
/* Until the node accepts connections. */
void peer_await_accept(void);

#endif
