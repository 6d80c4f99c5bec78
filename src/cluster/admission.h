/*
 * admission.h - which peers become members of rank 0's cluster: accepting, the hello, the proof
 * that a peer knows the secret, the agreement of all, and the sentences for peers that are refused,
 * that wait, or that wait in vain.
 *
 *                 all have come
 *   GATHERING ------------------> COMPLETE     from then on newcomers are sent away, to come
 *       |                                      again later; but who was lost is let in, if the
 *       |                                      owner has opened it
 *       | one differs, goes, or does not come
 *       v
 *   REFUSING      with one sentence for all who came and are yet to come
 *
 * Memory    at init an array of members, rank 0's hello, and nng's for accepting; messages; one
 *           channel for each member, and as many others as secret.h says
 * Waiting   acceptor_open: up to two seconds for a port to become free; _close: for the descriptor
 *           to be closed; _stop: for a callback under way
 * Life      all three: init; acceptor_open; admission_begin when the hub has started, and accepting
 *           begins with the first tick; message, tick and lose in any order; acceptor_close, _stop;
 *           fini when the hub has stopped
 */
#ifndef LOCUS_CLUSTER_ADMISSION_H
#define LOCUS_CLUSTER_ADMISSION_H

#include "base/time.h"
#include "cluster/hub.h"

/* ---- the members, as rank 0 knows them ---- */

enum { MEMBERS_LIST_BYTES = 160, MEMBERS_BARRIER_BYTES = 64 };

struct member {
    struct channel *channel; /* NULL: has not come, or was sent its last message */
    char address[ADDRESS_MAX];
    unsigned workers, peer_timeout_ms;
    bool has_joined, has_arrived, is_absent, is_coming_back, is_leaving;
    bool is_lost;       /* and the others have survived that */
    bool is_repairing;  /* has yet to say that it is through with that */
    bool is_going;      /* wants to leave while the others go on, or does */
    bool is_connecting; /* has yet to say so of who joins */
    bool is_newcomer;   /* has joined, and not yet met the others: counts as absent until then, */
    char kept_at[MEMBERS_BARRIER_BYTES]; /*   and has arrived there; "": has not */
    struct reminder kept;
    struct word said; /* when it arrived */
};

struct members {
    unsigned size;
    struct member *member; /* [size] */
    struct change *change; /* [CHANGES_MAX], of which there were `changes` */
    uint32_t changes;
};

/* ---- telling them: all of these take the caller's reference ---- */

void members_send_one(struct member *, struct message *);
/* To those for which the condition is true; NULL: to all. */
void members_send_some(struct members *, bool (*is_meant)(const struct member *), struct message *);
/* Each was sent its last message, and has this long to read it. */
void members_dismiss(struct members *, uint64_t timeout_ns);

/* ---- who is missing ---- */

/* "rank 3", "ranks 0, 4 to 9", "ranks 1, 3, 5 and 80 more". Are they several? */
bool members_list(const struct members *, bool (*is_missing)(const struct member *),
                  char list[MEMBERS_LIST_BYTES]);

/* Nodes begin to wait for something, unless one waits already (since_ns 0: none does). */
void waiting_begin(struct reminder *);
/* Is it time to report? Returns after how many seconds of waiting; or 0, and *due_ns is lowered to
 * the time of the next report. */
unsigned waiting_report(struct reminder *, uint64_t now_ns, uint64_t *due_ns);
struct message *waiting_message(const char *sentence);

/* ---- accepting (acceptor.c) ---- */

/* An accepted connection becomes a channel of the hub, without a rank until the peer has said who
 * it is. Once the hub has started, tick and close with its lock. */
struct acceptor {
    struct hub *hub;
    unsigned members;
    nng_stream_listener *listener; /* NULL: no peer can come any more */
    int fd;                        /* of the listener; -1: not found */
    nng_aio *accepting;
    bool is_accepting;
    uint64_t accept_ns; /* when to accept again, if not now */
    uint64_t pause_ns;  /* after each one; 0: none is needed */
    bool lacks_descriptors;
};

/* 0 or -ENOMEM. The hub need not have started. */
int acceptor_init(struct acceptor *, struct hub *, unsigned members);
/* Listens at the first address where that is possible. `deadline_ns`: of joining. Returns 0,
 * -EADDRINUSE or another negative errno, with the sentence in locus_error(). */
int acceptor_open(struct acceptor *, const struct rendezvous_address *, bool loopback_only,
                  uint64_t deadline_ns);
/* Accepts the next peer if it is time. Returns when to call again; HUB_NEVER: no need to. */
uint64_t acceptor_tick(struct acceptor *, uint64_t now_ns);
/* All members are there: who comes now is sent away, so it may wait. */
void acceptor_calm(struct acceptor *);
/* Releases the port; accepted peers stay. May be called twice. */
void acceptor_close(struct acceptor *);
/* Call it without the lock. No callback comes after it has returned. */
void acceptor_stop(struct acceptor *);
void acceptor_fini(struct acceptor *);

/* ---- admission ---- */

enum { ADMISSION_WHY_BYTES = 208 };

enum admission_state { ADMISSION_GATHERING, ADMISSION_REFUSING, ADMISSION_COMPLETE };

struct admission {
    struct hub *hub;
    struct members *members;
    struct acceptor *acceptor;

    enum admission_state state;
    bool is_open; /* the owner's: once it is complete, one that was lost may come */
    bool survives;
    uint64_t id; /* of the last START */
    unsigned joined, shards, peer_timeout_ms;
    char shown[RENDEZVOUS_SHOWN_MAX]; /* the address */
    struct message *hello;            /* what rank 0 tells of itself */
    struct hello ours;                /* the same, read */
    struct secret secret;

    struct reminder waiting;
    uint64_t deadline_ns; /* of joining: the earliest of all members' deadlines, for all of them */
    double limit_s;       /* that member's whole time-out */
    int refusal;
    char sentence[MESSAGE_TEXT_MAX]; /* why */

    /* peers that could not prove themselves and were not yet reported */
    unsigned turned_away;
    uint64_t report_ns;                        /* when the next report may be */
    char turned_away_why[ADMISSION_WHY_BYTES]; /* of the last; "": there was none */
};

/* The caller has filled in hub, members and acceptor, and zeroed everything else. `deadline_ns`: of
 * joining. Returns 0 or -ENOMEM; call fini in either case. */
int admission_init(struct admission *, const struct rendezvous_config *,
                   const struct rendezvous_address *, uint64_t deadline_ns);
void admission_fini(struct admission *);
void admission_begin(struct admission *);

/* A channel without a rank has sent this. */
void admission_message(struct admission *, struct channel *, const struct message_header *,
                       const void *body);
/* That member's connection has ended. Before all have joined, the cluster cannot form then; later
 * this does nothing. */
void admission_lose(struct admission *, unsigned rank, const char *reason);
/* Reports and the deadline. *due_ns is no later than when to call again. */
void admission_tick(struct admission *, uint64_t now_ns, uint64_t *due_ns);

#endif
