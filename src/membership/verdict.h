/*
 * verdict.h - which of those that do not hear each other is lost.
 *
 * Silence is mutual: when a cable between two nodes fails, each accuses the other. So rank 0 waits
 * for a heartbeat's time after the first accusation, and gives up the node that most accuse; of
 * equals the one of the highest rank. Then all name the same one.
 *
 * Callers   server.c, with the lock of the hub
 * Memory    itself: VERDICT_MAX accusations; more change nothing
 * Waiting   never
 * Life      all zero at first; verdict_accuse, and when verdict_due_ns has come verdict_pick, which
 *           empties it
 */
#ifndef LOCUS_MEMBERSHIP_VERDICT_H
#define LOCUS_MEMBERSHIP_VERDICT_H

#include <stdint.h>

enum { VERDICT_MAX = 1024, VERDICT_REASON_BYTES = 192 };

struct verdict {
    uint64_t due_ns; /* 0: nobody is accused */
    unsigned count;
    struct accusation {
        unsigned accuser, accused;
    } said[VERDICT_MAX];
    char reason[VERDICT_REASON_BYTES]; /* of the first */
};

/* `accuser` says that `accused` "was silent for 10 s". */
void verdict_accuse(struct verdict *, unsigned accuser, unsigned accused, const char *reason,
                    uint64_t due_ns);

/* UINT64_MAX: nobody is accused. */
static inline uint64_t verdict_due_ns(const struct verdict *v)
{
    return v->count > 0 ? v->due_ns : UINT64_MAX;
}

/* Who is lost, and why: "was silent for 10 s, as 2 nodes say". */
unsigned verdict_pick(struct verdict *, char reason[VERDICT_REASON_BYTES]);

#endif
