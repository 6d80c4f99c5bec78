/*
 * probe.h - one TCP connection between two hosts, to see what it carries: pings of 64 bytes, then a
 * raw stream.
 *
 *     bytes   who listens            who measures
 *             probe_listen
 *     32                        <--  connects, and says the token
 *     64      sends it back     <--> PROBE_PINGS times; then a 64 whose first byte is PROBE_STREAM
 *     ...     reads             <--  for PROBE_STREAM_S, then shuts down
 *     8       counts bytes      -->
 *
 * The token keeps others out: who does not say it is hung up on.
 *
 * Memory    1 MiB while it runs
 * Waiting   PROBE_TIMEOUT_S at most, each step
 * Life      probe_listen, probe_serve, which closes; or probe_measure
 */
#ifndef LOCUS_DOCTOR_PROBE_H
#define LOCUS_DOCTOR_PROBE_H

#include <stddef.h>

enum { PROBE_TOKEN_BYTES = 32, PROBE_PINGS = 300, PROBE_TIMEOUT_S = 8, PROBE_TEXT_MAX = 256 };
#define PROBE_STREAM_S 0.3
#define PROBE_EVERYWHERE "*" /* all addresses of this host, in place of one */

/* At a numeric address or a name of this host, port 0: any. Fills in the port. 0, or a negative
 * errno. */
int probe_listen(const char *host, unsigned *port, int *fd);
/* One connection that knows the token; closes fd. 0, or a negative errno: -ETIMEDOUT, nobody
 * came. */
int probe_serve(int fd, const char token[PROBE_TOKEN_BYTES]);

struct probe_result {
    double round_trip_s; /* median */
    double bytes_a_second;
};
/* 0, or a negative errno; -ENOENT: the name is not known. */
int probe_measure(const char *host, unsigned port, const char token[PROBE_TOKEN_BYTES],
                  struct probe_result *);

#endif
