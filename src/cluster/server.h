/*
 * server.h - rank 0's side of a rendezvous: it counts the members that arrive and leave, and
 * decides which was lost first; admission.h decides who may join. It talks to the member of its own
 * process as to all others, over a connection.
 *
 * Memory    its own, allocated at start, except messages and connections, which the acceptor limits
 * Waiting   start: up to two seconds for a port to become free. stop: for members to read the last
 *           message, as said there
 * Life      server_start ... server_stop
 */
#ifndef LOCUS_CLUSTER_SERVER_H
#define LOCUS_CLUSTER_SERVER_H

#include "cluster/message.h"

struct server;

/* Listens at the first address where that is possible. `deadline_ns`: of joining. Returns 0,
 * -EADDRINUSE or another negative errno, with the sentence in locus_error(). */
int server_start(struct server **out, const struct rendezvous_config *,
                 const struct rendezvous_address *, uint64_t deadline_ns);
/* Returns when all members that were told of the end (refused, lost, left) have read that, after at
 * most a second; or peer_timeout_s, if all have left in order. */
void server_stop(struct server *);

/*
 * Which of several nodes that do not hear each other is lost?
 *
 * Silence is mutual: when a cable between two nodes fails, each accuses the other. So after the
 * first accusation rank 0 waits for the time of a heartbeat. Then it gives up the node that most
 * nodes accuse; of several the one with the highest rank. So all nodes name the same one.
 *
 * All zero at first; verdict_accuse, and when verdict_due_ns has come verdict_pick. What is said of
 * a node that is lost, or by it, is forgotten; what else was said is judged at once, if anybody goes
 * on. Accusations beyond VERDICT_MAX change nothing.
 */
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

void verdict_forget(struct verdict *, unsigned rank);
/* The node that is lost, of so many, and why: "was silent for 10 s, as 2 nodes say". */
unsigned verdict_pick(struct verdict *, unsigned nodes, char reason[VERDICT_REASON_BYTES]);

#endif
