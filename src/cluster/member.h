/*
 * member.h - a node's side of its connection to rank 0: its state, and its reactions to rank 0's
 * messages. Rank 0 has a connection to itself, too.
 *
 * Callers   under the hub's lock; the hub's thread for messages
 * Memory    the struct, of rendezvous.c
 * Waiting   member_wait()
 * Life      as the rendezvous
 */
#ifndef LOCUS_CLUSTER_MEMBER_H
#define LOCUS_CLUSTER_MEMBER_H

#include "base/time.h"
#include "cluster/hub.h"
#include "cluster/message.h"
#include "net/address.h"
#include "net/secret.h"

/* For rank 0 to say whom it lost first. */
#define VERDICT_TIMEOUT_NS UINT64_C(1000000000)

/* A node that finds more of them silent was itself cut off. */
enum { MEMBER_SILENT_MAX = 16 };

/* Whose loss was reported, for one kind of reasons, and has not come yet. */
struct reported {
    unsigned rank[MEMBER_SILENT_MAX], count;
};

/*
 *         HELLO sent        WELCOME         START         LEAVE sent
 *   AWAY ------------> GREETED --> WELCOMED ------> RUNNING -------> LEAVING ---> LEFT
 *    ^                 |  |  ^        |                |                |
 *    |                 |  +--+        |                |                |
 *    |                 |  CHALLENGE: RESPONSE sent     |                |
 *    +--ended, AGAIN---+--> FAILED <--+                +----> LOST <----+
 *       or, with a secret, REFUSED without a proof
 */
enum member_phase { AWAY, GREETED, WELCOMED, FAILED, RUNNING, LEAVING, LEFT, LOST };

/* A change of members, and why. */
struct news {
    struct change change;
    char reason[MESSAGE_TEXT_MAX];
    struct news *next;
};

struct rendezvous {
    struct hub hub; /* its lock is ours */
    bool has_hub, is_stopped;
    struct server *server; /* on rank 0 */
    enum member_phase phase;
    unsigned rank, size;
    unsigned living; /* members that were not lost */
    bool *is_lost;   /* [size] */
    struct rendezvous_address address;
    struct channel *channel; /* to rank 0; NULL: none */
    struct secret secret;
    struct message *hello; /* the last that was sent */
    bool has_doubted;      /* has said that somebody answers who has proved nothing */
    struct rendezvous_cluster cluster;
    char notice[2 * MESSAGE_TEXT_MAX]; /* for stderr, printed by the thread that waits */

    struct reminder joining;
    uint64_t deadline_ns;            /* of joining */
    uint64_t greeted_ns;             /* when the last hello was sent */
    char obstacle[MESSAGE_TEXT_MAX]; /* why the last attempt to reach rank 0 failed */
    int obstacle_rc;                 /* what joining returns if that stays so */
    int failure;
    char sentence[MESSAGE_TEXT_MAX]; /* why joining has failed */

    enum { OUTSIDE, ARRIVED, RELEASED } barrier; /* the state of a caller */
    /* rank 0 has acknowledged that this node takes part again */
    bool is_known_present;
    struct word answer; /* of the last barrier */

    bool has_reported; /* any loss */
    struct reported silent, failed;
    /* when it is clear whether rank 0 is silent or we were cut off; 0: nothing to clear up */
    uint64_t clear_ns;
    unsigned lost_rank;
    char lost_reason[MESSAGE_TEXT_MAX];
    bool may_tell, has_told; /* the callback */
    struct {
        struct change change;      /* the last that came */
        uint32_t repaired;         /* was answered */
        struct news *first, **end; /* those that have yet to be told */
    } view;
    struct {
        uint64_t id;
        unsigned rank;
        char address[ADDRESS_MAX];
        bool is_news; /* and has yet to be told */
    } newcomer;       /* the last one of which was heard */
    void (*lost)(void *context, int rank, const char *reason);
    void (*seen)(void *context, const struct change *, const char *reason);
    void (*joins)(void *context, uint64_t id, unsigned rank, const char *address);
    void *context;
};

/* Callbacks for the hub. The context is the struct. */
extern const struct hub_events member_events;

void member_hang_up(struct rendezvous *);
/* To rank 0; nowhere once its connection has ended. Takes over the message. */
void member_send(struct rendezvous *, struct message *);
/* Releases the lock for a moment if there is something to print. */
void member_print_notice(struct rendezvous *);
/* Waits until something has changed. It will, because rank 0 must send heartbeats, and watches all
 * other nodes. */
void member_wait(struct rendezvous *);

#endif
