/*
 * members.h - the members of a cluster as rank 0 knows them: what each has said, messages to all of
 * them, and which are missing for how long.
 *
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
    struct rendezvous_channel *channel; /* NULL: has not come, or was sent its last message */
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
/* To those for which the condition is true. */
void rendezvous_members_send_some(struct rendezvous_members *,
                                  bool (*is_meant)(const struct rendezvous_member *),
                                  struct rendezvous_message *);
/* Each was sent its last message, and has this long to read it. */
void rendezvous_members_dismiss(struct rendezvous_members *, uint64_t timeout_ns);

/* ---- who is missing ---- */

/* "rank 3", "ranks 0, 4 to 9", "ranks 1, 3, 5 and 80 more". Are they several? */
bool rendezvous_members_list(const struct rendezvous_members *,
                             bool (*is_missing)(const struct rendezvous_member *),
                             char list[RENDEZVOUS_LIST_BYTES]);

/* Something for which nodes wait: those that are missing are reported every 10 s. */
struct rendezvous_waiting {
    uint64_t since_ns; /* 0: nobody waits */
    unsigned reports;
};

/* Begins to wait, unless a node waits already. */
void rendezvous_waiting_begin(struct rendezvous_waiting *);
/* Is it time to report? Returns after how many seconds of waiting; or 0, and *due_ns is lowered to
 * the time of the next report. */
unsigned rendezvous_waiting_report(struct rendezvous_waiting *, uint64_t now_ns, uint64_t *due_ns);
struct rendezvous_message *rendezvous_waiting_message(const char *sentence);

#endif
