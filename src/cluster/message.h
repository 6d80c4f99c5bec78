/*
 * message.h - what members and rank 0 say to each other, and its bytes. No I/O here.
 *
 *   message = magic (4 bytes), protocol version (2), type (2), length of the body (4), body
 *   text    = length (4 bytes) and as many bytes
 *
 * All little-endian. A received message is valid only if the reader below found all of it in the
 * bytes: after decoding, call message_read_all().
 *
 *      member                     rank 0
 *      HELLO              ->
 *                         <-      CHALLENGE, when the cluster has a secret
 *      RESPONSE           ->
 *                         <-      WELCOME, or REFUSED (with the sentence), or AGAIN (another
 *                                 cluster is still here, or this one cannot be joined now)
 *                         <-      START, when all have come
 *      BARRIER            ->
 *                         <-      RELEASE, when all have come who are not absent
 *      ABSENT             ->      nobody here takes part in barriers meanwhile, or
 *                         <-      PRESENT: somebody does again: between two barriers that belong
 *                                 together it comes after the second
 *      REPORT             ->      a link to that rank ended, say
 *                         <-      LOST, once, to all: the cluster has failed; or, if it survives
 *                                 that, LOST to the lost one alone, and to all others
 *                         <-      VIEW: it is no member any more
 *      REPAIRED           ->      what it had is with others now, as far as this node is concerned
 *                         <-      JOINING: one of its rank has come; all connect to it
 *      CONNECTED          ->      of it and of all others; then VIEW to all of them
 *      GO                 ->      alone; then VIEW with that, to itself, too; and when all are through
 *                         <-      LEFT
 *      LEAVE              ->
 *                         <-      LEFT, when all leave
 *      HEARTBEAT          ->  <-  when there was nothing else to say for a while
 *                         <-      WAITING, after 10 s, and every 10 s: who is missing, for stderr
 *
 * After REFUSED, AGAIN, LOST and LEFT the member ends the connection, and rank 0 waits for that.
 * The end is the acknowledgement, so no message is lost in a socket that is closed with unread
 * bytes.
 *
 * A member that knows a secret gives up joining only for what comes with a proof, or after the
 * WELCOME: all else may be somebody else's who listens there, and it tries again.
 *
 * The header, the first two numbers of HELLO (rank and size), the errno and sentence of REFUSED,
 * and AGAIN are the same in all versions, so that nodes of different versions can tell each other
 * what is wrong.
 *
 * Memory    malloc, with a count of references, which the hub's lock protects once the message was
 *           given to a channel; the addresses of struct rendezvous_cluster are the rendezvous'
 * Waiting   never
 * Life      message_new, message_put_..., message_done; channels send it, and the last one frees it
 */
#ifndef LOCUS_CLUSTER_MESSAGE_H
#define LOCUS_CLUSTER_MESSAGE_H

#include "net/address.h"
#include "protocol/change.h"
#include "locus.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct secret;

/* ---- what a node brings, and what all have agreed on after joining ---- */

enum { RENDEZVOUS_NODES_MAX = 4096 };

struct rendezvous_config {
    struct locus_config node;    /* complete, of several nodes, with the rendezvous' "host:port" */
    const char *data_address;    /* of this node, "host:port" */
    unsigned choice;             /* what rank 0 chooses if its own `shards` is 0 */
    const struct secret *secret; /* of the cluster; NULL: none */
    bool loopback_only;          /* rank 0 listens at no other address */
    /* A member was lost: its rank and the reason, which continues the sentence "node N (host:port)
     * ...". Called at most once, only after a successful join, from a thread of the rendezvous;
     * must not wait and must not call back. */
    void (*lost)(void *context, int rank, const char *reason);
    /* With `survives` of the node: likewise, but for each change of members. The next one comes after
     * rendezvous_repaired(), or `lost` does. */
    void (*view)(void *context, const struct change *, const char *reason);
    /* And a node wants to join, to which ours must connect, and say rendezvous_connected(); or it does
     * not after all, if there is no address. */
    void (*joining)(void *context, uint64_t id, unsigned rank, const char *address);
    void *context;
};

/* What all agreed on. Who joins a running cluster has an id of its own. */
struct rendezvous_cluster {
    uint64_t id; /* never 0 */
    unsigned shards;
    /* the shortest of all nodes': a node that one of them gives up is lost for all */
    double peer_timeout_s;
    /* [size], of the data ports; belongs to the rendezvous */
    char (*address)[ADDRESS_MAX];
    unsigned *workers; /* [size] */
    /* [changes] of members before this node joined a running cluster, of the rendezvous, too; 0: it
     * was there from the start */
    struct change *history;
    uint32_t changes;
};

/* ---- meetings ---- */

/*
 * A barrier of all nodes at which each may say a word, and all get the same answer.
 *
 * A word is a failure (a negative errno and its sentence), or a text, or numbers, or nothing. The
 * answer is the failure of the lowest rank that has failed; if no node has, the text of the lowest
 * that said one, and the sums of the numbers, by rank: the same bits in every run. So what
 * all nodes do together succeeds on all of them or on none.
 */
enum { WORD_TEXT_BYTES = 512 };

struct word {
    int rc;                     /* 0 or a negative errno */
    char text[WORD_TEXT_BYTES]; /* its sentence; or the text for all nodes; "": nothing */
    unsigned count;             /* numbers; all that say some say as many */
    double number[LOCUS_SUM_MAX];
};

/* What no call of the system fails with. */
enum { MEETING_REPEATS = -ERESTART };

struct meeting {
    const char *name; /* appears in messages */
    /* if no node failed, all nodes that come to this barrier come to the next one, too, and no node
     * that is absent now is back before that. If a member is lost in between, the next one fails
     * with MEETING_REPEATS: all begin again with the first */
    bool goes_on;
    /* a node that is absent or leaves does not count as arrived: the barrier fails */
    bool needs_all;
    /* nodes that have joined a running cluster take part, if they have arrived, and from then on in
     * all others; until then they may arrive at no others, and count as absent there */
    bool lets_in;
};

/* After a meeting with that result: do all come to another one that belongs to it? */
static inline bool meeting_goes_on(bool goes_on, int rc)
{
    return rc == MEETING_REPEATS || (goes_on && rc == 0);
}

/* Adds the word of another node to the answer. */
static inline void word_add(struct word *answer, const struct word *said)
{
    for (unsigned i = 0; i < said->count; i++) answer->number[i] += said->number[i];
    if (said->count) answer->count = said->count;
    if (answer->rc || (said->rc == 0 && (!said->text[0] || answer->text[0]))) return;
    answer->rc = said->rc;
    memcpy(answer->text, said->text, sizeof answer->text);
}

/* ---- as bytes ---- */

#define MESSAGE_MAGIC UINT32_C(0x72636f6c) /* "locr" */
enum {
    MESSAGE_VERSION = 17,
    MESSAGE_HEADER_BYTES = 12,
    MESSAGE_MAX = 1 << 20,
    MESSAGE_GOES_ON = 1, /* flags of BARRIER */
    MESSAGE_NEEDS_ALL = 2,
    MESSAGE_LETS_IN = 4,
    MESSAGE_ERRNO_MAX = 4095,
    MESSAGE_TEXT_MAX = 512, /* of a sentence or a reason, with its 0 */
};

enum message_type {
    MESSAGE_HELLO = 1, /* rank, size, what struct hello has */
    MESSAGE_CHALLENGE, /* nonce (32; secret.h) */
    /* nonce (32), proof (32) that covers the rest: the body of HELLO again */
    MESSAGE_RESPONSE,
    MESSAGE_WELCOME, /* rank 0's peer timeout in ms (4), proof (32; zeros without a secret) */
    /* errno (4), the sentence; proof (32) that covers both; zeros if there is no secret, or the
     * member has not proved that it knows it */
    MESSAGE_REFUSED,
    MESSAGE_AGAIN, /* the reason */
    /* cluster id (8), shards (4), peer timeout in ms (4), size (4); of each rank: address, workers
     * (4); number of changes (4); of each: kind (4), rank (4) */
    MESSAGE_START,
    MESSAGE_HEARTBEAT,
    /* flags (4): 1: all that come to this one come to the next one, too; 2: it needs all nodes;
     * 4: it lets newcomers in; name; a word: errno (4), sentence or text, count of numbers (4), the numbers (8 each) */
    MESSAGE_BARRIER,
    MESSAGE_RELEASE, /* the word that all hear */
    MESSAGE_WAITING, /* the sentence */
    MESSAGE_LEAVE,
    MESSAGE_LEFT,
    MESSAGE_REPORT, /* rank (4), the reason */
    MESSAGE_LOST,   /* rank (4), the reason */
    /* 1 or 0 (4): from now on count me as arrived at every barrier; no longer */
    MESSAGE_ABSENT,
    MESSAGE_PRESENT,   /* the answer to 0, when no barrier under way needs another one */
    MESSAGE_VIEW,      /* number (4), kind (4) and rank (4) of the change; the reason */
    MESSAGE_REPAIRED,  /* number (4) */
    MESSAGE_JOINING,   /* id (8), rank (4), address; "": not after all */
    MESSAGE_CONNECTED, /* id (8), ""; or why not */
    MESSAGE_GO,
};

/* ---- writing ---- */

struct message {
    unsigned references;
    bool failed;
    size_t bytes, capacity;
    unsigned char *data;
};

/* NULL: no memory. All of the following accept NULL. */
struct message *message_new(enum message_type);
void message_put_u32(struct message *, uint32_t);
void message_put_u64(struct message *, uint64_t);
void message_put_text(struct message *, const char *);
void message_put_word(struct message *, const struct word *);
void message_put_bytes(struct message *, const void *, size_t bytes);
/* Fills in the length and returns the message. Returns NULL, and the message is gone, if there was
 * no memory or it is too long. */
struct message *message_done(struct message *);

struct message *message_hold(struct message *);
void message_let_go(struct message *);

/* ---- reading ---- */

struct message_header {
    uint32_t magic;
    unsigned version, type;
    uint32_t length;
};
struct message_header message_header(const unsigned char bytes[MESSAGE_HEADER_BYTES]);

/* Takes values from the front; past the end, or after any error, all values are 0. */
struct message_reader {
    const unsigned char *at, *end;
    bool failed;
};
struct message_reader message_reader(const void *body, size_t bytes);
uint32_t message_get_u32(struct message_reader *);
uint64_t message_get_u64(struct message_reader *);
/* Returns `bytes` bytes in place; NULL: there are fewer. */
const unsigned char *message_get_bytes(struct message_reader *, size_t bytes);
/* Returns a text in place, without a terminating 0. */
struct message_slice {
    const char *at;
    size_t bytes;
};
struct message_slice message_get_slice(struct message_reader *);
/* Returns a text that can be shown: cut to `capacity`, with control characters replaced. */
void message_get_text(struct message_reader *, char *text, size_t capacity);
void message_show(struct message_slice, char *text, size_t capacity);
/* false: message_put_word() cannot have written this. */
bool message_get_word(struct message_reader *, struct word *);
/* Was everything there, and nothing more? */
bool message_read_all(const struct message_reader *);

/* ---- the first message of a node ---- */

/* Who it is, and its configuration, which must be equal on all nodes. One that was read points into
 * the message. */
struct hello {
    unsigned rank, size;
    unsigned peer_timeout_ms;
    unsigned join_timeout_ms; /* as configured, for the sentence */
    unsigned timeout_ms;      /* what is left of it */
    char address[ADDRESS_MAX];
    unsigned workers;
    unsigned shards; /* 0: any */
    bool has_secret; /* the node has one, perhaps not the cluster's */
    /* what must be equal: pairs of texts, a name and a value, up to an empty one */
    struct message_reader equal;
};

/* NULL: no memory, or the names of tables are too long. */
struct message *hello_write(const struct rendezvous_config *, unsigned timeout_ms);

/* Only rank and size, from a hello of any protocol version. */
bool hello_read_rank(struct hello *, const void *body, size_t bytes);
/* false: hello_write() cannot have written this. */
bool hello_read(struct hello *, const void *body, size_t bytes);

/* Do they differ where they must be equal? Then the sentence names the first difference. `shards`:
 * what rank 0 has decided. */
bool hello_differs(const struct hello *theirs, const struct hello *ours, unsigned shards,
                   char *sentence, size_t capacity);

#endif
