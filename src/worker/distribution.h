/*
 * distribution.h - a registered distribution: the target, the scheme of its conformity level, and a
 * stream of samples for each worker.
 *
 * Memory    about 0.8 KB a worker, the target's (target.h), the pools of the workers that use them
 *           (stream.h)
 * Waiting   never
 * Life      distribution_new, stream_... , distribution_free. It may outlive the node, but can then
 *           only be freed
 */
#ifndef LOCUS_WORKER_DISTRIBUTION_H
#define LOCUS_WORKER_DISTRIBUTION_H

#include "worker/sample_stream.h"

struct locus_distribution {
    const locus *node;
    struct target target;
    enum locus_conformity conformity;
    bool is_unique; /* without replacement */
    bool is_used;   /* a sample was prepared */
    unsigned rank, streams;
    struct stream *stream; /* [streams], by worker */
};

/* Weights NULL: uniform. The arguments were checked. 0 or -ENOMEM. */
int distribution_new(locus_distribution **, locus_key first, const double *weights, uint64_t count,
                     unsigned workers);
void distribution_free(locus_distribution *);

/* Sets the seed of the streams' random numbers, which also depend on rank and worker. */
void distribution_seed(locus_distribution *, uint64_t seed);

#endif
