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
 * Life      rendezvous_admission_init; begin when the hub has started; message, tick and lose in
 *           any order; fini when the hub has stopped
 */
#ifndef LOCUS_MEMBERSHIP_ADMISSION_H
#define LOCUS_MEMBERSHIP_ADMISSION_H

#include "membership/acceptor.h"
#include "membership/hello.h"
#include "membership/members.h"

enum { RENDEZVOUS_WHY_BYTES = 208 };

enum rendezvous_admission_state { RENDEZVOUS_GATHERING, RENDEZVOUS_REFUSING, RENDEZVOUS_COMPLETE };

struct rendezvous_admission {
    struct rendezvous_hub *hub;
    struct rendezvous_members *members;
    struct rendezvous_acceptor *acceptor;

    enum rendezvous_admission_state state;
    unsigned joined, shards, peer_timeout_ms;
    char shown[RENDEZVOUS_SHOWN_MAX]; /* the address */
    struct rendezvous_message *hello; /* what rank 0 tells of itself */
    struct rendezvous_hello ours;     /* the same, read */
    struct secret secret;

    struct rendezvous_waiting waiting;
    uint64_t deadline_ns; /* of joining: the earliest of all members' deadlines, for all of them */
    double limit_s;       /* that member's whole time-out */
    int refusal;
    char sentence[RENDEZVOUS_TEXT_MAX]; /* why */

    /* peers that could not prove themselves and were not yet reported */
    unsigned turned_away;
    uint64_t report_ns, report_pause_ns;        /* when the next report may be, and between them */
    char turned_away_why[RENDEZVOUS_WHY_BYTES]; /* of the last; "": there was none */
};

/* The caller has filled in hub, members and acceptor, and zeroed everything else. `deadline_ns`: of
 * joining. Returns 0 or -ENOMEM; call fini in either case. */
int rendezvous_admission_init(struct rendezvous_admission *, const struct rendezvous_config *,
                              const struct rendezvous_address *, uint64_t deadline_ns);
void rendezvous_admission_fini(struct rendezvous_admission *);
void rendezvous_admission_begin(struct rendezvous_admission *);

/* A channel without a rank has sent this. */
void rendezvous_admission_message(struct rendezvous_admission *, struct rendezvous_channel *,
                                  const struct rendezvous_header *, const void *body);
/* That member's connection has ended. Before all have joined, the cluster cannot form then; later
 * this does nothing. */
void rendezvous_admission_lose(struct rendezvous_admission *, unsigned rank, const char *reason);
/* Reports and the deadline. *due_ns is no later than when to call again. */
void rendezvous_admission_tick(struct rendezvous_admission *, uint64_t now_ns, uint64_t *due_ns);

#endif
