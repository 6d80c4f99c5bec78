#include "protocol/sources.h"

#include <errno.h>
#include <stdlib.h>

/* Where every node holds every row, replicas are of all others from the beginning. */
static bool counts(const struct shard *s, unsigned node)
{
    return shard_is_full(s) ? node != s->rank : s->sources->source[node].replicas > 0;
}

void sources_publish(struct shard *s)
{
    struct sources *all = s->sources;
    uint64_t until_ns = UINT64_MAX;
    if (all->bound_ns == 0) return;
    for (unsigned n = 0; n < s->nodes; n++) {
        uint64_t silent_ns = all->source[n].heard_ns + all->bound_ns;
        if (counts(s, n) && silent_ns < until_ns) until_ns = silent_ns;
    }
    if (until_ns != all->fresh_until_ns)
        __atomic_store_n(&all->fresh_until_ns, until_ns, __ATOMIC_RELEASE);
}

void sources_add(struct shard *s, unsigned node)
{
    struct source *source = &s->sources->source[node];
    if (source->replicas++ > 0) return;
    source->heard_ns = s->now_ns;
    sources_publish(s);
}

void sources_remove(struct shard *s, unsigned node)
{
    if (--s->sources->source[node].replicas == 0) sources_publish(s);
}

void sources_heard(struct shard *s, unsigned node)
{
    struct source *source = &s->sources->source[node];
    if (source->replicas > 0) {
        uint64_t us = (s->now_ns - source->heard_ns) / 1000;
        unsigned gap = histogram_bucket(s->now_ns - source->heard_ns);
        shard_count(&s->histograms.gap[gap].replicas, source->replicas);
        shard_count(&s->histograms.gap[gap].replica_us, source->replicas * us);
        shard_count(&s->counters.stale_us, source->replicas * us);
        double half_square = (double)source->replicas * (double)us * (double)us / 2;
        shard_count(&s->counters.stale_us_squared,
                    (uint64_t)(half_square / (1 << SHARD_STALE_SHIFT)));
    }
    source->heard_ns = s->now_ns;
}

int sources_init(struct shard *s, uint64_t bound_ns)
{
    struct sources *all = s->sources = aligned_alloc(_Alignof(struct sources), sizeof *all);
    if (!all) return -ENOMEM;
    *all = (struct sources){.bound_ns = bound_ns, .fresh_until_ns = UINT64_MAX};
    all->source = calloc(s->nodes, sizeof *all->source);
    if (!all->source) return -ENOMEM;
    sources_publish(s);
    return 0;
}

void sources_fini(struct shard *s)
{
    if (!s->sources) return;
    free(s->sources->source);
    free(s->sources);
    s->sources = NULL;
}
