/*
 * members.h - the members of a cluster as rank 0 knows them: what each has said, messages to all of
 * them, and which are missing for how long.
 *
 * Memory    an array at init; the channels are the hub's
 * Waiting   never
 * Life      members_init ... members_fini
 */
#ifndef LOCUS_CLUSTER_MEMBERS_H
#define LOCUS_CLUSTER_MEMBERS_H

#include "base/reminder.h"
#include "cluster/agreement.h"
#include "cluster/hub.h"
#include "cluster/meeting.h"

enum { MEMBERS_LIST_BYTES = 160 };

struct member {
    struct channel *channel; /* NULL: has not come, or was sent its last message */
    char address[ADDRESS_MAX];
    unsigned workers, peer_timeout_ms;
    bool has_joined, has_arrived, is_absent, is_coming_back, is_leaving;
    struct word said; /* when it arrived */
};

struct members {
    unsigned size;
    struct member *member; /* [size] */
};

int members_init(struct members *, unsigned size); /* 0 or -ENOMEM */
void members_fini(struct members *);

/* ---- telling them: all of these take the caller's reference ---- */

void members_send_one(struct member *, struct message *);
void members_send(struct members *, struct message *);
/* To those for which the condition is true. */
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

#endif
