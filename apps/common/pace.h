/*
 * pace.h - bounded staleness for comparison: SSP and ESSP as Petuum has them (--technique ssp,
 * essp; Ho et al., 2013; AdaPM, Appendix A.3).
 *
 * Nothing is signaled ahead. When a row is missed it is intended, for as many clocks as it may be
 * used (SSP) or for ever (ESSP), and fetched (params.c). An epoch has the same number of clocks for
 * each worker, whatever the worker has to do: otherwise fast and slow workers would wait for each
 * other. After each of its clocks a worker waits until the copies at its node are fresh enough.
 *
 * With other techniques a clock is a training step, and nobody waits.
 *
 * Callers   one worker's thread
 * Memory    the caller's
 * Waiting   pace_done(), with ssp and essp, for the other workers' clocks
 * Life      pace_begin ... pace_end in each epoch
 */
#ifndef APPS_PACE_H
#define APPS_PACE_H

#include "pool.h"

/* Of an epoch, for programs that have no parts of their own. */
enum { PACE_CLOCKS = 64 };

struct pace {
    const struct pool_member *member;
    uint64_t total, clocks, passed; /* of the epoch: what is to be done; clocks */
};

/* An epoch begins, in which the worker has `total` to do, in `clocks` clocks, the same for all
 * workers; 0: PACE_CLOCKS. */
void pace_begin(struct pace *, const struct pool_member *, uint64_t total, uint64_t clocks);
/* So much of it is done now. */
void pace_done(struct pace *, uint64_t done);
/* It is over, wherever it ended. */
void pace_end(struct pace *);

/* A training step is over. With ssp and essp that is no clock. */
void pace_step(const struct pool_member *);

/* Does the program signal ahead what it will need? */
static inline bool pace_signals_ahead(const struct pool *pool)
{
    return pool->node && !pool->bound.is_on;
}

/* Intends the keys that are not here, which the caller is about to fetch. Does nothing if keys are
 * signaled ahead. */
void pace_missed(const struct pool_member *, const locus_key *keys, size_t n);

#endif
