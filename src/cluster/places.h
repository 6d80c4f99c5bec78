/*
 * places.h - how many shards a node has, and where its threads and its memory lie on the machine.
 *
 * Callers   the thread that opens the node
 * Memory    the caller's
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_CLUSTER_PLACES_H
#define LOCUS_CLUSTER_PLACES_H

#include "base/pinning.h"
#include "cluster/message.h"
#include "store/store.h"
#include "locus.h"

/* By the machine, as if all nodes were on one host: rank 0 does not know more before the others
 * have come. And as many as the tables need. */
unsigned places_choose_shards(const struct pinning_machine *, const struct locus_config *);
void places_plan(const struct pinning_machine *, const struct rendezvous_cluster *, unsigned rank,
                 unsigned size, struct pinning_plan *);
/* Called before any thread touches the memory: otherwise all rows would lie near the thread that
 * writes the first values. */
void places_bind(const struct pinning_machine *, struct pinning_place, const struct store *,
                 unsigned shard);

#endif
