/*
 * link_private.h - a link as its ring drives it: what to send, where to receive. No I/O.
 *
 *   sending     building --full, or flushed--> queued --> under way --sent--> back to the pool
 *   receiving   [0, head) handled, [head, tail) the beginning of a frame, [tail, end of the buffer)
 *               free
 *   bytes       go through a TCP connection; or, if the peer is at the same place, through shared
 *               memory (shm.h), and then of the connection only its end counts, and bytes that
 *               wake who sleeps
 *   phase       OPEN --the connection ends after a WIRE_BYE of either side--> ENDED
 *                 `---anything else that ends it--> FAILED, and the ring's owner is told
 *
 * Callers   the reactor's thread
 * Memory    as link.h says
 * Waiting   never
 * Life      link_new, one send and one receive under way at most, link_free when there is neither
 */
#ifndef LOCUS_NET_LINK_PRIVATE_H
#define LOCUS_NET_LINK_PRIVATE_H

#include "net/shm.h"
#include "net/link.h"
#include "net/tcp.h"

#include <pthread.h>
#include <sys/socket.h>

enum {
    LINK_GATHER_MAX = 8, /* frames in one send */
    LINK_REASON_BYTES = 192,
    LINK_BELL_BYTES = 16,
};

/* A frame on its way out. */
struct outgoing {
    struct outgoing *next;
    size_t bytes; /* header included */
    uint32_t count;
    _Alignas(64) unsigned char data[];
};

/* What the links of one ring share. */
struct links {
    struct link_events events;
    unsigned nodes;
    /* of all of them together; more than `queued_max`: those that have more than their part fail */
    size_t queued_bytes, queued_max;
    bool has_repairs;
    uint32_t membership; /* in the headers of frames */
    size_t frame_bytes;  /* of the largest frame, header included */
    uint64_t timeout_ns, heartbeat_ns;
    uint64_t now_ns;            /* of the latest poll or tick */
    bool all_run;               /* every node has started, and speaks */
    char place[SHM_TEXT_BYTES]; /* of this node; empty: it has no shared memory */
    struct link *shm;           /* those that read from shared memory */
    struct outgoing *spare;
    uint64_t buffers; /* there are; read by any thread */
    unsigned spares, spares_max;
    struct link *ready;  /* those with something to send or to receive, for the ring to look at */
    struct link *fallen; /* those that failed and were not yet reported, in that order */
    struct link **fallen_end;
    pthread_mutex_t loading; /* of what link_load() reads of a link, and of dropping it */
};

enum link_phase { LINK_OPEN, LINK_ENDED, LINK_FAILED };

/*   lower rank    NONE --says its place--> ASKED --a name, opened--> THROUGH
 *   higher rank   NONE --its own place heard, says a name--> ASKED --WIRE_THROUGH--> THROUGH
 *   both          --anything else that the other one may say--> APART */
enum link_agreement { SHM_NONE, SHM_ASKED, SHM_THROUGH, SHM_APART };

struct link {
    struct links *all;
    unsigned peer;
    int fd;
    enum link_phase phase;
    bool said_bye, heard_bye;

    struct outgoing *building;
    struct outgoing *first, *last; /* queued; the kernel has the first `under_way` of them */
    unsigned under_way;
    size_t sent; /* bytes of the first that have gone already */
    size_t queued_bytes;
    bool flushed; /* what is being built goes out as soon as nothing is under way */
    int send_error;
    uint64_t sequence_out;

    unsigned char *buffer; /* two frames */
    size_t head, tail;
    bool receiving;  /* a receive is under way: the kernel has the buffer */
    bool is_dropped; /* its peer is no member any more */
    bool more;       /* when the last one ended, the socket had more bytes */
    uint64_t sequence_in;

    enum link_agreement agreement;
    struct shm *shm;
    bool writes_shm, reads_shm; /* WIRE_THROUGH has gone, has come */
    unsigned char bell[LINK_BELL_BYTES];
    struct link *next_shm;

    uint64_t spoke_ns, heard_ns; /* when the last send began, when the last bytes came */
    struct silence silence;
    struct link_stats stats;
    bool is_ready;
    struct link *next_ready, *next_fallen;
    unsigned culprit;
    char reason[LINK_REASON_BYTES];

    struct iovec piece[LINK_GATHER_MAX]; /* of the send under way */
    struct msghdr message;
};

void links_init(struct links *, const struct link_events *, unsigned nodes, size_t entry_bytes_max,
                double timeout_s);
void links_fini(struct links *);

/* NULL: no memory; the connection is still the caller's. */
struct link *link_new(struct links *, unsigned peer, int fd);
/* Closes the connection. */
void link_free(struct link *);

/* What to send now: the number of pieces in piece[], and `message`. 0: nothing, or a send is under
 * way. The bytes belong to the kernel until link_sent. */
unsigned link_gather(struct link *);
/* The send ended with this many bytes, or a negative errno value. */
void link_sent(struct link *, int result);

/* Where the next bytes go; never empty. */
static inline struct iovec link_space(struct link *l)
{
    if (l->reads_shm) return (struct iovec){l->bell, sizeof l->bell};
    return (struct iovec){l->buffer + l->tail, 2 * l->all->frame_bytes - l->tail};
}
/* The receive ended with this many bytes (0: the connection ended), or a negative errno value.
 * Passes complete frames up. */
void link_received(struct link *, int result, bool more);

/* Bytes of the peer lie where the next ones go: passes complete frames up. */
void link_take(struct link *, size_t bytes);
/* A frame without entries, behind everything queued. */
void link_notice(struct link *, enum wire_kind, unsigned lost, const char *text);

/* ---- shared memory (link_shm.c) ---- */

/* Begins to agree on it: at the start, of links to nodes of higher rank. */
void link_ask_shm(struct link *);
/* WIRE_SHM and WIRE_THROUGH have come. Return NULL, or why the link must fail. */
const char *link_heard_shm(struct link *, const char *text);
const char *link_heard_through(struct link *);
/* Our WIRE_THROUGH has gone. */
void link_begin_to_give(struct link *);
/* Write, or read and write, what there is, and wake the peer if it sleeps. false: there was
 * nothing. */
bool link_give(struct link *);
bool link_move(struct link *);
void link_end_shm(struct link *);
/* Reads what the peer wrote before its connection ended. */
void link_read_rest(struct link *);
/* Wakes the peer if it sleeps and there is something for it. */
void link_wake(struct link *);
/* All links in shared memory: this end is about to sleep. false: it must not, there is news. */
bool links_sleep(struct links *);
void links_awake(struct links *);

/* Heartbeat and silence. Returns when to look again. */
uint64_t link_tick(struct link *, uint64_t now_ns);

/* Ends the connection, drops what was to be sent, and has the reason reported to the owner. Does
 * nothing if the link is not open. */
void link_fail(struct link *, unsigned culprit, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* The same without telling anybody. */
void link_end(struct link *);
/* And for good: frees what the kernel does not have; to be called again when an operation has ended.
 * What was counted stays until link_free. */
void link_drop(struct link *);

/* Lets the ring look at this link when it submits. */
static inline void link_is_ready(struct link *l)
{
    if (l->is_ready) return;
    l->is_ready = true;
    l->next_ready = l->all->ready;
    l->all->ready = l;
}

#endif
