/*
 * admission.h - which peers become members of rank 0's cluster: the hello, the proof that a peer
 * knows the secret, the agreement of all, and the sentences for peers that are refused, that wait,
 * or that wait in vain.
 *
 *                 all have come
 *   GATHERING ------------------> COMPLETE     from then on newcomers are sent away, to come
 *       |                                      again later
 *       | one differs, goes, or does not come
 *       v
 *   REFUSING      with one sentence for all who came and are yet to come
 *
 * Memory    rank 0's hello at init; messages
 * Waiting   never
 * Life      admission_init; begin when the hub has started; message, tick and lose in
 *           any order; fini when the hub has stopped
 */
#ifndef LOCUS_CLUSTER_ADMISSION_H
#define LOCUS_CLUSTER_ADMISSION_H

#include "cluster/acceptor.h"
#include "cluster/hello.h"
#include "cluster/members.h"

enum { ADMISSION_WHY_BYTES = 208 };

enum admission_state { ADMISSION_GATHERING, ADMISSION_REFUSING, ADMISSION_COMPLETE };

struct admission {
    struct hub *hub;
    struct members *members;
    struct acceptor *acceptor;

    enum admission_state state;
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
    uint64_t report_ns, report_pause_ns;       /* when the next report may be, and between them */
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
