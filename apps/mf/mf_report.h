/*
 * mf_report.h - what mf says on stdout: lines for people, or with --json one JSON object a line.
 *
 * Callers   the first worker of rank 0, and main()
 * Memory    none
 * Waiting   for stdout
 */
#ifndef MF_MF_REPORT_H
#define MF_MF_REPORT_H

#include "rmse.h"

/* Sums over all workers. */
struct mf_epoch {
    double cells, squares, seconds;
    double objective; /* of coordinate descent */
};

void mf_report_start(const struct mf *, const struct pool *);
void mf_report_epoch(const struct mf *, uint64_t number, const struct mf_epoch *);
void mf_report_test(const struct mf *, const struct rmse *);

#endif
