/*
 * wv_report.h - what wv says on stdout: lines for people, or with --json one JSON object a line.
 *
 * Callers   the first worker of rank 0, and main()
 * Memory    none
 * Waiting   for stdout
 */
#ifndef WV_WV_REPORT_H
#define WV_WV_REPORT_H

#include "judge.h"

/* Sums over all workers. */
struct wv_epoch {
    double words, pairs, loss, seconds;
};

void wv_report_start(const struct wv *, const struct pool *);
void wv_report_epoch(const struct wv *, uint64_t number, const struct wv_epoch *);
void wv_report_verdict(const struct judge *, const struct verdict *);

#endif
