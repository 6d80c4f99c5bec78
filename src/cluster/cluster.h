/*
 * cluster.h - the other nodes: joining them, one reactor a shard with links to them, losing one,
 * leaving in order.
 *
 * Callers   any thread; losses come from reactors' and rendezvous' threads
 * Memory    its own, and what its parts state
 * Waiting   cluster_join until the join deadline; cluster_agree and cluster_leave while all nodes
 *           live
 * Life      cluster_join, cluster_start, work, cluster_leave, cluster_free
 */
#ifndef LOCUS_CLUSTER_CLUSTER_H
#define LOCUS_CLUSTER_CLUSTER_H

#include "actors/reactor.h"
#include "cluster/message.h"
#include "net/link.h"
#include "store/store.h"
#include "locus.h"

#include <pthread.h>

struct cluster;

/* Joins as config->rank of config->size (at least 2); the configuration is complete (plan.h).
 * Returns 0, or an error as in rendezvous.h and mesh.h, with the sentence in locus_error(). If a
 * node is lost, `lost` is called once, before any call here reports the loss: on any thread; it
 * must not wait, nor call anything here. With `survives` the loss of another node than rank 0 is none
 * to those that are left, unless two are lost at once. */
int cluster_join(const struct locus_config *, void (*lost)(void *context), void *context,
                 struct cluster **out);
unsigned cluster_shards(const struct cluster *);

/* What the members were before this node joined a running cluster, for the plan; of `changes` 0: it
 * was there from the start. */
const struct change *cluster_history(const struct cluster *, uint32_t *changes);

/* Starts the reactors on the plan's store, and waits until all nodes have; or, in a running cluster,
 * until this node is a member and has its part. */
int cluster_start(struct cluster *, const struct node_plan *);
struct reactor **cluster_reactors(struct cluster *); /* [shards] */
/* Do workers share cores with shards? Then threads that spin must yield. */
bool cluster_shares_cores(const struct cluster *);

/* 0, or -ECONNRESET with the sentence that names the node that was lost first. */
int cluster_loss(struct cluster *);

/* rendezvous_agree(). `cluster` is a struct cluster *: it fits collective_others. */
int cluster_agree(void *cluster, const struct meeting *, struct word *);
/* All our workers have closed: we count as arrived at every barrier, until a worker opens again and
 * rank 0 knows that. 0 or -ECONNRESET. */
int cluster_absent(struct cluster *, bool absent);

/* Of a cluster that survives: the last change of members that has been heard of, counted from 1, and
 * the last one whose repair is over on this node, saves apart; 0: none. And is that node lost? */
uint32_t cluster_view(struct cluster *);
uint32_t cluster_repaired(struct cluster *);
/* What has become of the members. Any thread, while the reactors run. */
void cluster_losses(struct cluster *, struct locus_losses *);
bool cluster_has_lost(struct cluster *, unsigned rank);

/* Leaves with all others, or alone (rendezvous.h), and ends the reactors. -ECONNRESET when a node was
 * lost. */
int cluster_leave(struct cluster *, bool alone);
void cluster_free(struct cluster *); /* NULL is allowed */

#endif
