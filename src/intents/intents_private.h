/* What intents.c and intents_find.c share. */
#ifndef LOCUS_INTENTS_INTENTS_PRIVATE_H
#define LOCUS_INTENTS_INTENTS_PRIVATE_H

#include "intents/intents.h"

struct intent_batch {
    locus_clock start, end; /* end: of all while they wait, then when to look */
    uint32_t count, capacity;
    uint32_t waiting; /* of them counted in the node's bound */
    uint64_t index[];
};

static inline locus_clock intents_clock(const struct intents *all, unsigned worker)
{
    return __atomic_load_n(all->clock[worker], __ATOMIC_ACQUIRE);
}

/* By what the worker and its loaders have named; less than `now`: not any more. */
static inline locus_clock intents_wanted_until(const struct worker_intents *w, uint64_t index,
                                               locus_clock now)
{
    locus_clock until = INT64_MIN;
    for (const struct intent_stream *s = w->stream; s; s = s->next) {
        locus_clock at = stream_wanted_until(s, index, now);
        if (at > until) until = at;
    }
    return until;
}

#endif
