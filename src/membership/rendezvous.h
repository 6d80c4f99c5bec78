/*
 * rendezvous.h - who is in the cluster: joining, barriers, and the news that a node was lost. The
 * control plane, on nng; never the data path.
 *
 * Rank 0 listens at the rendezvous address; every node, rank 0 included, is a member with a
 * connection to it. A member tells rank, size, protocol version, the address of its data port and
 * its configuration (tables, technique, shards); rank 0 compares, and when all have come gives
 * everybody the list of addresses, the number of shards and the cluster's id: a fresh random number
 * that every data connection presents, so that what is left of an earlier cluster at the same
 * address does not belong. When the cluster has a secret, a member and rank 0 prove to each other
 * that they know it before anything that the member said counts. One that cannot is refused and
 * named on rank 0's stderr, and the others go on waiting for the right node.
 *
 * Callers   cluster.c; the callback comes from a thread of the rendezvous
 * Memory    its own; messages are bounded by RENDEZVOUS_MESSAGE_MAX
 * Waiting   join: to its deadline. barrier, leave: as long as all members live, peer_timeout_s
 *           after the last sign of life of one that does not
 * Life      rendezvous_join, barriers, rendezvous_leave or the loss of a member, rendezvous_free
 */
#ifndef LOCUS_MEMBERSHIP_RENDEZVOUS_H
#define LOCUS_MEMBERSHIP_RENDEZVOUS_H

#include "membership/agreement.h"
#include "membership/meeting.h"

struct rendezvous;

/*
 * Joins. 0, or with the sentence in locus_error():
 *   -ETIMEDOUT   names who is missing, for how long and the address: "rank 3 of 4 has not joined
 *                after 10 s; rendezvous 10.0.0.1:7777", or that nobody answers there
 *   -EADDRINUSE  rank 0: the port is taken
 *   -EINVAL      an address that cannot be parsed or resolved; a node that differs: both sides get
 *                the same sentence that says in what and with which two values ("rank 2 has shards
 *                4, rank 0 has 2"); rank taken twice
 *   -EPROTO      another protocol version, or something at the address that is no rendezvous of
 *                locus
 *   -EACCES      the secret: we do not know it, or rank 0 does not, or one has one and the other
 *                none; or rank 0 may listen on loopback only, and the address is another
 *   -ECONNRESET  rank 0, or a member, left before all had joined
 * A cluster that is being left at the same address is waited for, to the deadline.
 */
int rendezvous_join(const struct rendezvous_config *, struct rendezvous **out,
                    struct rendezvous_cluster *);

/* Meets all other nodes; every node calls the same barriers in the same order; `name` appears in
 * messages. After 10 s, and then every 10 s, one line on stderr says which ranks are missing.
 * -ECONNRESET: a member was lost. `goes_on`: all who come to this one come to the next one, too,
 * and no node that is absent now is back before that. */
int rendezvous_barrier(struct rendezvous *, const char *name, bool goes_on);
/* The same, and each says a word (meeting.h); on return it is the answer. If somebody said a
 * failure: its errno, and its sentence in locus_error(). */
int rendezvous_agree(struct rendezvous *, const struct meeting *, struct word *);

/* From now on we count as arrived at every barrier of the others: nobody here takes part. Not
 * during a barrier of ours. rendezvous_present(): no longer; waits until rank 0 counts us again.
 * -ECONNRESET: a member was lost. Any thread. */
void rendezvous_absent(struct rendezvous *);
int rendezvous_present(struct rendezvous *);

/* Tells all that `rank` failed (a link of ours ended, say). No waiting, any thread. Ours and the
 * others' `lost` are called with it, unless something was lost before; for silence with whom most
 * accuse (verdict.h). false: nobody is told any more, and no `lost` comes of it. */
bool rendezvous_report_lost(struct rendezvous *, int rank, const char *reason);
/* After a report, for as long as rank 0 may take to say who was lost. */
void rendezvous_await_verdict(struct rendezvous *);

/* Leaves in order, with all others: a barrier, after which the ends of connections are no failures
 * and the address may be used again at once. -ECONNRESET when a member was lost: then it only says
 * goodbye, without waiting. */
int rendezvous_leave(struct rendezvous *);
/* Ends its threads: `lost` is called no more, and what is reported goes nowhere. NULL is allowed,
 * and again. */
void rendezvous_stop(struct rendezvous *);
void rendezvous_free(struct rendezvous *);

#endif
