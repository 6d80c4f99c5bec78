/*
 * rendezvous.h - the cluster's membership: joining, barriers, and the loss of nodes. It is the
 * control plane, on nng, and never the data path.
 *
 * Rank 0 listens at the rendezvous address; every node, including rank 0, is a member with a
 * connection to it. A member sends its rank, size, protocol version, the address of its data port,
 * and its configuration (tables, technique, shards). Rank 0 compares them. When all have come, it
 * sends every member the list of addresses, the number of shards, and the cluster's id: a fresh
 * random number. Every data connection presents this id, so that remains of an earlier cluster at
 * the same address are refused. If the cluster has a secret, a member and rank 0 prove to each
 * other that they know it, before anything that the member said is used. A member that cannot is
 * refused and named on rank 0's stderr, and the others continue to wait for the right node.
 *
 * Callers   the callback comes from a thread of the rendezvous
 * Memory    its own; messages are bounded by MESSAGE_MAX
 * Waiting   join: until its deadline. agree, leave: while all members live, and up to
 *           peer_timeout_s after the last sign of life of a member
 * Life      rendezvous_join, meetings, rendezvous_leave or the loss of a member, rendezvous_free
 */
#ifndef LOCUS_CLUSTER_RENDEZVOUS_H
#define LOCUS_CLUSTER_RENDEZVOUS_H

#include "cluster/message.h"

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
 * If another cluster is still ending at the same address, joining waits for that, until the
 * deadline. If it survives losses, and has lost a node of our rank, we join that: the cluster has a
 * history then, and we are a member with the view in which we join, behind rendezvous_connected().
 */
int rendezvous_join(const struct rendezvous_config *, struct rendezvous **out,
                    struct rendezvous_cluster *);

/* Waits for all other nodes, each of which says a word (message.h); on return the word is the
 * answer. All nodes call the same meetings in the same order. After 10 s, and then every 10 s, a
 * line on stderr says which ranks are missing. -ECONNRESET: a member was lost. If a node said a
 * failure, returns its errno, with its sentence in locus_error(). */
int rendezvous_agree(struct rendezvous *, const struct meeting *, struct word *);

/* absent: from now on we count as arrived at every barrier of the others, because no worker here
 * takes part. Not during a barrier of ours. present: we no longer do; waits until rank 0 has
 * acknowledged that. -ECONNRESET: a member was lost. Any thread. */
void rendezvous_absent(struct rendezvous *);
int rendezvous_present(struct rendezvous *);

/* Tells all nodes that `rank` failed, for example because a link of ours ended. Never waits, any
 * thread. Then `lost` is called here and on the other nodes with that rank, unless a node was lost
 * before; if the reason is silence, with the rank that most nodes accuse (server.h). false: it is
 * too late to tell, and `lost` will not be called. */
bool rendezvous_report_lost(struct rendezvous *, int rank, const char *reason);
/* Of a cluster that survives: what the lost node of that view had is with others now, as far as
 * this node is concerned. Any thread, never waits. */
void rendezvous_repaired(struct rendezvous *, uint32_t view);
/* We are connected to the node that joins, or, if that is us, to all others; or why we are not. `id`:
 * as we were told, or of our cluster. Any thread, never waits. */
void rendezvous_connected(struct rendezvous *, uint64_t id, const char *why_not);
/* Of a member; changes when another node takes its rank. Any thread. */
void rendezvous_address(struct rendezvous *, unsigned rank, char address[ADDRESS_MAX]);
/* The last view that has come; 0: no member was lost. And is that one? Any thread. */
uint32_t rendezvous_view(struct rendezvous *);
bool rendezvous_has_lost(struct rendezvous *, unsigned rank);
/* Waits after a report, for as long as rank 0 may take to decide which node was lost. */
void rendezvous_await_verdict(struct rendezvous *);

/* Leaves in order, with all others: a barrier, after which the ends of connections are no failures
 * and the address may be used again at once. -ECONNRESET if a member was lost: then it only says
 * goodbye, without waiting. `alone`, of a cluster that survives: not rank 0, all of whose workers have
 * closed; the others go on, when they have all that it had. */
int rendezvous_leave(struct rendezvous *, bool alone);
/* Ends its threads: `lost` is no longer called, and reports have no effect. NULL is allowed, and so
 * is calling it again. */
void rendezvous_stop(struct rendezvous *);
void rendezvous_free(struct rendezvous *);

#endif
