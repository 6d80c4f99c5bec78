/*
 * sample_lease.h - the clocks for which intent was signaled for all keys of a pool.
 *
 * A pool's rows should stay here until the pool is used up. So its keys are intended together, for
 * as long as the pool is expected to last, and again if it lasts longer. Each extension is a
 * fraction of the whole time so far, so there are few of them.
 *
 * Memory    none
 * Waiting   never
 * Life      lease_begin, lease_cover ... as long as the pool gives keys
 */
#ifndef LOCUS_WORKER_SAMPLE_LEASE_H
#define LOCUS_WORKER_SAMPLE_LEASE_H

#include "worker/sample_pool.h"

/* The thread that prepares a sample and signals intent for it: the worker itself, or one of its
 * loaders. */
struct preparer {
    locus_worker *worker;
    locus_loader *loader; /* NULL: the worker */
};

/* Signals that the worker will read and write the keys while its clock is in [start, end). Also
 * returns 0 if the limit of waiting intents is reached: then the rows are accessed wherever they
 * are. */
int preparer_intend(const struct preparer *, const locus_key *keys, size_t n, locus_clock start,
                    locus_clock end);

struct lease {
    locus_clock from, to; /* equal: none yet */
};

/* Clocks are not negative; adding stops at the last one. */
static inline locus_clock clock_after(locus_clock c, locus_clock more)
{
    return c > INT64_MAX - more ? INT64_MAX : c + more;
}

/* Intends the pool's keys for [from, to). 0, or why that failed: a node was lost. */
int lease_begin(struct lease *, const struct pool *, const struct preparer *, locus_clock from,
                locus_clock to);

/* The pool's keys are used in [start, end), and the pool will last about `left` clocks (0:
 * unknown): signals what was not yet signaled of that, and more. */
int lease_cover(struct lease *, const struct pool *, const struct preparer *, locus_clock start,
                locus_clock end, locus_clock left);

#endif
