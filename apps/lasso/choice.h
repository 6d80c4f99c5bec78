/*
 * choice.h - what a scheduler of lasso needs beside the configuration: the filter by correlation,
 * and candidates at random.
 *
 * Callers   the thread of one scheduler
 * Memory    that of overlap.h
 * Waiting   never
 */
#ifndef LASSO_CHOICE_H
#define LASSO_CHOICE_H

#include "lasso.h"
#include "overlap.h"
#include "rng.h"

struct choice {
    const struct lasso *lasso;
    struct overlap overlap; /* those chosen for a round */
    struct rng rng;
    uint64_t share, shares;
};

/* Sets the callbacks of the configuration, which belong to scheduler `number`; what is drawn behind
 * so many updates follows from the seed and from their number. */
void choice_open(struct choice *, const struct lasso *, unsigned number, uint64_t updates,
                 struct locus_schedule_config *);
void choice_close(struct choice *);

#endif
