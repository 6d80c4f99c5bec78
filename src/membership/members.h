/*
 * members.h - the members of a cluster as rank 0 knows them: what each has said, what all are told,
 * and which of them are missing, and for how long.
 *
 * Callers   server.c, admission.c, with the lock of the hub that has the channels
 * Memory    an array at init; the channels are the hub's
 * Waiting   never
 * Life      rendezvous_members_init ... rendezvous_members_fini
 */
#ifndef LOCUS_MEMBERSHIP_MEMBERS_H
#define LOCUS_MEMBERSHIP_MEMBERS_H

#include "membership/agreement.h"
#include "membership/hub.h"

enum { RENDEZVOUS_LIST_BYTES = 160 };

struct rendezvous_member {
    struct rendezvous_channel *channel; /* NULL: has not come, or its last word was said */
    char address[RENDEZVOUS_ADDRESS_MAX];
    unsigned workers, peer_timeout_ms;
    bool has_joined, has_arrived, is_absent, is_coming_back, is_leaving;
};

struct rendezvous_members {
    unsigned size;
    struct rendezvous_member *member; /* [size] */
};

int rendezvous_members_init(struct rendezvous_members *, unsigned size); /* 0 or -ENOMEM */
void rendezvous_members_fini(struct rendezvous_members *);

/* ---- telling them: all of these take the caller's reference ---- */

void rendezvous_member_send(struct rendezvous_member *, struct rendezvous_message *);
void rendezvous_members_send(struct rendezvous_members *, struct rendezvous_message *);
/* To those of whom it is true. */
void rendezvous_members_send_some(struct rendezvous_members *,
                                  bool (*is_meant)(const struct rendezvous_member *),
                                  struct rendezvous_message *);
/* Each has been sent its last word, and gets that long to read it. */
void rendezvous_members_dismiss(struct rendezvous_members *, uint64_t timeout_ns);

/* ---- who is missing ---- */

/* "rank 3", "ranks 0, 4 to 9", "ranks 1, 3, 5 and 80 more". Are they several? */
bool rendezvous_members_list(const struct rendezvous_members *,
                             bool (*is_missing)(const struct rendezvous_member *),
                             char list[RENDEZVOUS_LIST_BYTES]);

/* Something that some wait for: who is missing is reported every 10 s. */
struct rendezvous_waiting {
    uint64_t since_ns; /* 0: nobody waits */
    unsigned reports;
};

/* Unless somebody waits already. */
void rendezvous_waiting_begin(struct rendezvous_waiting *);
/* Is it time to report? Then after how many seconds; else 0, and *due_ns is no later than when it
 * will be. */
unsigned rendezvous_waiting_report(struct rendezvous_waiting *, uint64_t now_ns, uint64_t *due_ns);
struct rendezvous_message *rendezvous_waiting_message(const char *sentence);

#endif
