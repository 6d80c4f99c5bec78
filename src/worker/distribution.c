#include "worker/distribution.h"

#include "base/closed.h"

#include <errno.h>
#include <stdlib.h>

static int init_target(struct target *t, locus_key first, const double *weights, uint64_t count)
{
    if (weights) return target_init_weighted(t, first, weights, count);
    target_init_uniform(t, first, count);
    return 0;
}

int distribution_new(locus_distribution **out, locus_key first, const double *weights,
                     uint64_t count, unsigned workers)
{
    locus_distribution *d = calloc(1, sizeof *d);
    if (!d) return -ENOMEM;
    d->stream = aligned_alloc(_Alignof(struct stream), workers * sizeof *d->stream);
    int rc = d->stream ? init_target(&d->target, first, weights, count) : -ENOMEM;
    if (rc) {
        free(d->stream);
        free(d);
        return rc;
    }
    d->streams = workers;
    for (unsigned i = 0; i < workers; i++) stream_init(&d->stream[i]);
    *out = d;
    return 0;
}

void distribution_free(locus_distribution *d)
{
    for (unsigned i = 0; i < d->streams; i++) stream_fini(&d->stream[i]);
    target_fini(&d->target);
    free(d->stream);
    d->node = NULL;
    closed_keep(d, NULL, sizeof *d);
}

void distribution_seed(locus_distribution *d, uint64_t seed)
{
    for (unsigned i = 0; i < d->streams; i++) stream_seed(&d->stream[i], seed, d->rank, i);
}
