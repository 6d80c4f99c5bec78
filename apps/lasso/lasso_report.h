/*
 * lasso_report.h - what lasso says on stdout: lines for people, or with --json one JSON object a
 * line.
 *
 * Callers   the first worker of rank 0, and main()
 * Memory    none
 * Waiting   for stdout
 */
#ifndef LASSO_LASSO_REPORT_H
#define LASSO_LASSO_REPORT_H

#include "lasso.h"

/* How far it is. `objective`, `nonzero` are before round `rounds`. */
struct lasso_progress {
    uint64_t step; /* of the path */
    double lambda, objective, nonzero, seconds;
    uint64_t rounds, updates; /* since the start */
    bool is_converged;
};

/* Along the way (JSON only), and at the end of a step. */
void lasso_report_progress(const struct lasso *, const struct lasso_progress *);
void lasso_report_step(const struct lasso *, const struct lasso_progress *);
void lasso_report_waits(const struct lasso *, double schedule, double others);

#endif
