/*
 * ctr_report.h - what ctr says on stdout: lines for people, or with --json one JSON object a line.
 *
 * Callers   the first worker of rank 0, and main()
 * Memory    none
 * Waiting   for stdout
 */
#ifndef CTR_CTR_REPORT_H
#define CTR_CTR_REPORT_H

#include "ctr_quality.h"

/* Sums over all workers. */
struct ctr_epoch {
    double examples, loss, seconds;
};

void ctr_report_start(const struct ctr *, const struct pool *);
void ctr_report_epoch(const struct ctr *, uint64_t number, const struct ctr_epoch *);
/* `split`: "valid", "test", or "planted" (of the planted model itself). `epoch` 0: of none. */
void ctr_report_quality(const struct ctr *, const char *split, uint64_t epoch,
                        const struct ctr_quality *);
/* The epoch that was validated best: its model is tested and saved. */
void ctr_report_best(const struct ctr *, uint64_t epoch);

#endif
