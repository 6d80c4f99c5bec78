/*
 * report.h - what kge says on stdout: lines for people, or with --json one JSON object a line.
 *
 * Callers   the first worker of rank 0, and main()
 * Memory    none
 * Waiting   for stdout
 */
#ifndef KGE_REPORT_H
#define KGE_REPORT_H

#include "train.h"

/* The counters of locus_stats, in their order: X(name). */
#define REPORT_STATS(X) \
    X(pulled_local) \
    X(pulled_replica) \
    X(pulled_remote) \
    X(pushed_local) \
    X(pushed_replica) \
    X(pushed_remote) \
    X(relocated_in) \
    X(relocated_out) \
    X(replicas_created) \
    X(replicas_dropped) \
    X(replicas_now) \
    X(owned_now) \
    X(rounds) \
    X(bytes_sent) \
    X(bytes_received) \
    X(messages_sent) \
    X(messages_received) \
    X(forwards) \
    X(intents_signaled) \
    X(intents_late)

void report_start(const struct task *, const struct crew *);
void report_epoch(const struct task *, uint64_t number, const struct epoch *);
void report_quality(const struct task *, enum graph_split, const struct quality *);
/* `all`: of all nodes since the start, evaluations included, as JSON has them; people are shown those of the training. */
void report_stats(const struct training *, int nodes, const struct locus_stats *all);
/* The share of accesses that needed no network. */
double report_local_share(const struct locus_stats *);

#endif
