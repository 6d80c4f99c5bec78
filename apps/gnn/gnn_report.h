/*
 * gnn_report.h - what gnn says on stdout: lines for people, or with --json one JSON object a line.
 *
 * Callers   the first worker of rank 0, and main()
 * Memory    none
 * Waiting   for stdout
 */
#ifndef GNN_GNN_REPORT_H
#define GNN_GNN_REPORT_H

#include "accuracy.h"

/* Sums over all workers. */
struct gnn_epoch {
    double nodes, loss, seconds;
};

void gnn_report_start(const struct gnn *, const struct pool *);
void gnn_report_epoch(const struct gnn *, uint64_t number, const struct gnn_epoch *);
void gnn_report_accuracy(const struct gnn *, const struct accuracy *);
/* After which epoch the accuracy of the validation was best, and what it was then. */
void gnn_report_best(const struct gnn *, uint64_t number, const struct accuracy *);

#endif
