/*
 * hub.h - the connections of one party of a rendezvous: rank 0's to all members, or a member's to
 * rank 0.
 *
 * nng's byte streams carry the messages. Its message protocols are not suitable: they drop messages
 * if a peer is slow, hide the end of a connection, reconnect without being asked, and accept any
 * number of unauthenticated peers. The hub's single lock protects all state of the hub and of its
 * owner. nng's threads take it to pass in what was received, the owner's callers to change
 * something, and the hub's thread to check times: heartbeats, silence, deadlines.
 *
 * A forked child keeps nng's descriptors. So it is the end of the links (forked.h) that shows the
 * others at once that a process with such a child has ended.
 *
 * Only time during which this process ran counts as silence. If the thread wakes much later than
 * planned, the process was stopped or the machine asleep, and silence is counted from the
 * beginning.
 *
 * Memory    its own; a channel keeps at most one message received and HUB_QUEUE_MAX to be sent
 * Waiting   streams_prepare: for threads that are tried, once; streams_dial: until the connection
 *           is made or refused, or for `timeout_ns`; hub_wait; hub_drain, to the channels'
 *           deadlines; hub_stop, for callbacks under way. Nothing else
 * Life      streams_prepare before anything of a node that has others; hub_start, channels come and
 *           go, hub_drain, hub_stop, hub_fini
 */
#ifndef LOCUS_CLUSTER_HUB_H
#define LOCUS_CLUSTER_HUB_H

#include "base/time.h"
#include "cluster/message.h"
#include "net/secret.h"
#include "net/tcp.h"

#include <nng/nng.h>
#include <pthread.h>

/* ---- what nng's byte streams lack (streams.c) ---- */

/* Starts nng, if nobody has, without signals, which its threads inherit otherwise. 0, or with the
 * sentence in locus_error(): -EPERM, this process was forked by one that has used nng, which would
 * end it; -EAGAIN, too few threads; -EMFILE; -ENOMEM. */
int streams_prepare(void);
/* So many threads does nng start there: as many are tried before. */
long streams_threads(long processors);
/* `url`: "tcp://127.0.0.1:7777". Returns 0, and the stream belongs to the caller; or an error of
 * nng. */
int streams_dial(const char *url, uint64_t timeout_ns, nng_stream **stream);
/* The peer's address: "10.0.0.1:41234". */
void streams_show_peer(nng_stream *, char text[ADDRESS_MAX]);
/* The socket of this process with the same two addresses, as nng does not reveal it; -1: it is not
 * found. nng closes it when it likes, after the stream was closed. */
int streams_descriptor(nng_stream *);
int streams_descriptor_of_listener(nng_stream_listener *);

/* ---- the hub ---- */

enum { HUB_QUEUE_MAX = 64 };
#define HUB_NEVER UINT64_MAX

struct channel;

/* Calls of a hub to its owner, with the lock held, on a thread of nng or of the hub. */
struct hub_events {
    /* A message has come; heartbeats are not reported. The body is valid until the call returns. */
    void (*message)(void *context, struct channel *, const struct message_header *,
                    const void *body);
    /* The connection has ended, but not by channel_close() or _finish(): -ECONNRESET,
     * -ETIMEDOUT (it was silent, or past its deadline), -EPROTO (what came is not a message),
     * -ENOBUFS, -ENOMEM. `reason` continues the sentence "node N (host:port) ...". The channel is
     * gone when the call returns. */
    void (*ended)(void *context, struct channel *, int rc, const char *reason);
    /* Time has passed, or something has changed. Returns the latest time for the next call. On the
     * hub's thread, which may release the lock for a moment during the call. Called a last time,
     * after everything else, when the hub stops. */
    uint64_t (*tick)(void *context, uint64_t now_ns);
};

struct hub {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* for threads in hub_wait */
    pthread_cond_t wake;    /* for the thread */
    pthread_t thread;
    const struct hub_events *events;
    void *context;
    struct channel *first, *last; /* in the order in which they came */
    unsigned channels;            /* including those that are ending */
    bool stopping;
    bool is_noted;       /* the thread must look once more before it sleeps */
    uint64_t timeout_ns; /* of silence */
    /* of a message of a channel without a rank; the owner may lower it */
    size_t unauthenticated_bytes_max;
    uint64_t due_ns; /* when the thread is to wake */
    /* the last long time during which this process did not run */
    uint64_t absence_ns, absence_end_ns;
};

struct channel {
    struct hub *hub;
    struct channel *next, *previous;
    int rank;                /* the owner's: -1 at first */
    struct secret_talk talk; /* the owner's, too */
    bool is_challenged;      /* we have challenged it, or it us */
    nng_stream *stream;
    nng_aio *receiving, *sending;
    bool is_receiving, is_sending; /* nng has the operation, or its callback is on the way */
    bool is_closed;
    bool is_finished; /* our last message was sent */
    int failure;      /* a negative errno that the thread must still report to the owner, and why */
    const char *failure_reason;
    uint64_t heard_ns, spoke_ns;
    struct silence silence;
    uint64_t beat_ns; /* how often to send something; 0: no heartbeats, and silence is allowed */
    uint64_t deadline_ns; /* when to end it; 0: never */
    size_t have, capacity;
    unsigned char *received;
    size_t sent; /* bytes of the first message in the queue */
    unsigned queue_first, queued;
    struct message *queue[HUB_QUEUE_MAX];
};

/* 0, or a negative errno with the sentence in locus_error(). */
int hub_start(struct hub *, double peer_timeout_s, const struct hub_events *, void *context);
/* Waits until every peer with a rank that was sent our last message has ended its connection, or
 * has had enough time to. Call it without the lock. */
void hub_drain(struct hub *);
/* Ends all connections and the thread. No callback comes after it has returned. Call it without the
 * lock, which can still be used afterwards. */
void hub_stop(struct hub *);
void hub_fini(struct hub *);

void hub_lock(struct hub *);
void hub_unlock(struct hub *);
/* Releases the lock until something changes, or until `until_ns`. false: that time has come. */
bool hub_wait(struct hub *, uint64_t until_ns);
/* Wakes those in hub_wait. With the lock. */
void hub_announce(struct hub *);
/* The same, and makes the thread check everything and call tick. */
void hub_note(struct hub *);
/* How long this process did not run recently, if that was so long that peers may have given it up;
 * otherwise 0. With the lock. */
uint64_t hub_absence(const struct hub *);

/* Takes over a connected stream and begins to receive. NULL: no memory; the stream still belongs to
 * the caller. */
struct channel *channel_open(struct hub *, nng_stream *, uint64_t deadline_ns);
/* From now on heartbeats are sent, often enough for our own time-out and the peer's, and silence
 * ends the channel. */
void channel_watch(struct channel *, unsigned peer_timeout_ms);
/* From now on this is the time-out of the hub, and heartbeats on all watched channels are sent
 * often enough for it. */
void hub_agree(struct hub *, unsigned peer_timeout_ms);
/* How long the peer was not heard, if that has ended just now: then do not believe what it says of
 * others. Otherwise 0. */
uint64_t channel_silence(const struct channel *);
/* Takes the caller's reference. NULL stands for a message that could not be made. A failure is
 * reported later, by `ended`. */
void channel_send(struct channel *, struct message *);
/* The last message was sent: nothing is received any more, and the peer has this long to end the
 * connection. */
void channel_finish(struct channel *, uint64_t timeout_ns);
void channel_close(struct channel *);

#endif
