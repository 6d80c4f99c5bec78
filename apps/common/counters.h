/*
 * counters.h - the counters of locus_stats, summed over all nodes, and how a program shows them at
 * its end.
 *
 * Callers   counters_take(): every worker of every node, a collective; the rest: any thread, on
 *           rank 0
 * Memory    none
 * Waiting   counters_take() for all workers
 */
#ifndef APPS_COUNTERS_H
#define APPS_COUNTERS_H

#include "pool.h"

/* replica_staleness_mean_s is the mean over all reads of replicas. With the baseline all are 0. */
struct locus_stats counters_take(struct pool_member *);
/* The share of accesses that needed no network. */
double counters_local_share(const struct locus_stats *);
/* What happened between two readings; the staleness is the later one's. */
struct locus_stats counters_change(const struct locus_stats *before,
                                   const struct locus_stats *after);
/* The sum has no staleness. */
void counters_add(struct locus_stats *sum, const struct locus_stats *);
/* {"event":"stats",...}, or a line for people, who see nothing of one node alone; it begins with
 * `what`. */
void counters_show(const struct locus_stats *, const char *what, int nodes, bool json);

#endif
