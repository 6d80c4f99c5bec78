/*
 * tcp.h - what TCP is asked for a link; and silence: how often a node sends heartbeats, and after
 * how long a silence of its peer that has failed.
 *
 * The cluster survives an outage that is a second shorter than the time-out. The last message
 * before an outage is up to a heartbeat old, and the first one after it waits for TCP's next
 * attempt: at most SILENCE_RETRY_MS, if the kernel allows to set that (Linux 6.15). So the limit is
 * a moment longer than the time-out. With older kernels the attempts come 0.2, 0.6, 1.4, 3, 6.2,
 * 12.6 ... s after the first lost byte, and an outage is survived only if one of them falls between
 * its end and the limit.
 *
 * A node that was itself not heard for long cannot accuse others: it was cut off, so all others
 * seemed silent to it.
 *
 * Memory    the caller's
 * Waiting   never
 * Life      of a silence: zeroed, silence_note for all that is heard
 */
#ifndef LOCUS_NET_TCP_H
#define LOCUS_NET_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SILENCE_BEAT_NS_MAX UINT64_C(500000000)
#define SILENCE_MOMENT_NS_MAX UINT64_C(600000000)
enum {
    SILENCE_RETRY_MS = 1000, /* the least that the kernel takes */
    SILENCE_REASON_BYTES = 144,
};

static inline uint64_t silence_beat_ns(uint64_t timeout_ns)
{
    return timeout_ns / 4 < SILENCE_BEAT_NS_MAX ? timeout_ns / 4 : SILENCE_BEAT_NS_MAX;
}

static inline uint64_t silence_limit_ns(uint64_t timeout_ns)
{
    uint64_t moment = timeout_ns / 16 < SILENCE_MOMENT_NS_MAX ? timeout_ns / 16
                                                              : SILENCE_MOMENT_NS_MAX;
    return timeout_ns + moment;
}

/* The last long silence of a peer. */
struct silence {
    uint64_t ns, end_ns;
};

/* The peer was heard at `now_ns`, and before that at `heard_ns`. */
static inline void silence_note(struct silence *s, uint64_t heard_ns, uint64_t now_ns,
                                uint64_t timeout_ns)
{
    if (now_ns - heard_ns < timeout_ns / 2) return;
    *s = (struct silence){now_ns - heard_ns, now_ns};
}

/* Did a silence end just now, so that the peer's accusations do not count? Then its length,
 * otherwise 0. */
static inline uint64_t silence_recent_ns(const struct silence *s, uint64_t now_ns,
                                         uint64_t timeout_ns)
{
    return s->ns > 0 && now_ns - s->end_ns < timeout_ns / 2 ? s->ns : 0;
}

/* How the sentence about a silence begins. Silence is mutual: two nodes that do not hear each other
 * both report it. Rank 0, which hears all nodes, decides which of them is lost. */
#define SILENCE_REASON "was silent for "
static inline bool silence_is_reason(const char *reason)
{
    return strncmp(reason, SILENCE_REASON, sizeof SILENCE_REASON - 1) == 0;
}

/* Who is silent while its machine acknowledges our heartbeats is not cut off. Either its process
 * does not run, or what it sends is too large for the network and is dropped on the way: then it is
 * as healthy as we are. From here nobody can tell which, so the sentence says both. */
#define TCP_ACKNOWLEDGED \
    ", but its machine answers: it was stopped, or large packets are dropped (ping -M do -s 1472)"
/* Why a peer at that connection has failed that was not heard for the time-out: a sentence's end. */
void tcp_describe_silence(int fd, uint64_t timeout_ns, char reason[SILENCE_REASON_BYTES]);

/* Makes TCP try again at least every SILENCE_RETRY_MS, if the kernel supports that. */
void tcp_bound_retries(int fd);

/* For a link: no delay, bounded retries, blocking, because a ring does the waiting; cubic on
 * loopback (docs/reference/variables.md). Whatever is refused makes it slower, not wrong. */
void tcp_set_options(int fd);
/* Bytes that the peer has not acknowledged, and the round trip; 0 if unknown. */
size_t tcp_queued_bytes(int fd);
double tcp_round_trip_s(int fd);

#endif
