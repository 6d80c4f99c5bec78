#include "latency.h"

#include <math.h>

static uint64_t bucket_middle(unsigned bucket)
{
    if (bucket < LATENCY_STEPS) return bucket;
    unsigned shift = bucket / LATENCY_STEPS - 1;
    uint64_t lowest = (uint64_t)(LATENCY_STEPS + bucket % LATENCY_STEPS) << shift;
    return lowest + ((UINT64_C(1) << shift) >> 1);
}

uint64_t latency_percentile(const struct latency *l, double percent)
{
    uint64_t wanted = (uint64_t)ceil((double)l->calls * percent / 100);
    uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
        seen += l->buckets[bucket];
        if (seen > 0 && seen >= wanted) return bucket_middle(bucket);
    }
    return 0;
}
