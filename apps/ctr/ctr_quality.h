/*
 * ctr_quality.h - how well clicks of the examples held back are foretold: all nodes compute the
 * logits, which lie in rows of a table; rank 0 judges them.
 *
 * Callers   every worker of every node, a collective; the first one gets the result
 * Memory    9 bytes an example held back, at rank 0 twice that while it ranks them
 * Waiting   for rows of other nodes, and for all workers
 */
#ifndef CTR_CTR_QUALITY_H
#define CTR_CTR_QUALITY_H

#include "wide_deep.h"

enum { CTR_BINS = 10 };

/* The examples whose probability of a click is in one tenth: how many, and their clicks; each
 * counts as its weight. */
struct ctr_bin {
    double examples, foretold, came;
};

struct ctr_quality {
    double auc; /* that a click's logit is above a non-click's; equal ones count half */
    double log_loss;
    double calibration;       /* clicks foretold, a click that came */
    double calibration_error; /* mean distance of both in the bins */
    struct ctr_bin bins[CTR_BINS];
    double seconds;
};

/* Of any logits. `weights` may be NULL: all are 1. Without clicks, or with nothing else, the AUC is
 * NAN; without clicks the calibration, too. */
struct ctr_quality ctr_quality_of(const float *logits, const bool *is_click, const float *weights,
                                  size_t count);

/* Of the examples from number `first` on. */
struct ctr_quality ctr_quality_take(const struct ctr *, struct pool_member *, struct wide_deep *,
                                    uint64_t first, uint64_t count);

#endif
