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

void report_start(const struct task *, const struct pool *);
void report_epoch(const struct task *, uint64_t number, const struct epoch *);
void report_quality(const struct task *, enum graph_split, const struct quality *);
/* `all`: of all nodes since the start, evaluations included, as JSON has them; people are shown
 * those of the training. */
void report_stats(const struct training *, int nodes, const struct locus_stats *all);

#endif
