/*
 * verdict.h - decides which of several nodes that do not hear each other is lost.
 *
 * Silence is mutual: when a cable between two nodes fails, each accuses the other. So after the
 * first accusation rank 0 waits for the time of a heartbeat. Then it gives up the node that most
 * nodes accuse; of several the one with the highest rank. So all nodes name the same one.
 *
 * Memory    the struct, with VERDICT_MAX accusations; further ones change nothing
 * Waiting   never
 * Life      all zero at first; verdict_accuse, and when verdict_due_ns has come verdict_pick, which
 *           empties it
 */
#ifndef LOCUS_CLUSTER_VERDICT_H
#define LOCUS_CLUSTER_VERDICT_H

#include <stdint.h>

enum { VERDICT_MAX = 1024, VERDICT_REASON_BYTES = 192 };

struct verdict {
    uint64_t due_ns; /* 0: no node is accused */
    unsigned count;
    struct accusation {
        unsigned accuser, accused;
        char reason[VERDICT_REASON_BYTES];
    } said[VERDICT_MAX];
};

/* `accuser` says that `accused` "was silent for 10 s". */
void verdict_accuse(struct verdict *, unsigned accuser, unsigned accused, const char *reason,
                    uint64_t due_ns);

/* UINT64_MAX: no node is accused. */
static inline uint64_t verdict_due_ns(const struct verdict *v)
{
    return v->count > 0 ? v->due_ns : UINT64_MAX;
}

#define VERDICT_CUT_OFF "was cut off: it found all other nodes silent"

/* The node that is lost, of so many, and why: "was silent for 10 s, as 2 nodes say". */
unsigned verdict_pick(struct verdict *, unsigned nodes, char reason[VERDICT_REASON_BYTES]);

#endif
