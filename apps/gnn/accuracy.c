#include "accuracy.h"

#include "meter.h"

#include <math.h>

enum { TOGETHER = 128 };

void accuracy_open(struct accuracy_judge *j, const struct gnn *g, struct pool_member *m)
{
    *j = (struct accuracy_judge){.gnn = g, .member = m};
    neighbourhood_maker_init(&j->maker, g, TOGETHER, g->options.test_neighbours, 0);
    j->maker.is_fixed = true;
    neighbourhood_init(&j->neighbourhood, TOGETHER);
    convolution_open(&j->convolution, g, m, TOGETHER, g->options.test_neighbours);
}

void accuracy_close(struct accuracy_judge *j)
{
    convolution_close(&j->convolution);
    neighbourhood_fini(&j->neighbourhood);
    neighbourhood_maker_fini(&j->maker);
}

/* Of the nodes in the neighbourhood. */
static uint32_t count_right(struct accuracy_judge *j)
{
    const struct labels *l = &j->gnn->labels;
    struct neighbourhood *h = &j->neighbourhood;
    struct rng unused;
    uint32_t right = 0;
    rng_init(&unused, 0, 0);
    neighbourhood_make(&j->maker, h, &unused);
    const float *odds = convolution_infer(&j->convolution, h);
    for (uint32_t t = 0; t < h->tops; t++, odds += l->classes) {
        uint32_t best = 0;
        for (uint32_t c = 1; c < l->classes; c++)
            if (odds[c] > odds[best]) best = c;
        right += best == l->class_of[h->top[t]];
    }
    return right;
}

/* This worker's share of its node's part. */
static double right_of(struct accuracy_judge *j, enum labels_purpose purpose)
{
    const struct labels *l = &j->gnn->labels;
    const struct pool *pool = j->member->pool;
    struct neighbourhood *h = &j->neighbourhood;
    uint64_t right = 0, own = 0;
    h->tops = 0;
    for (uint32_t i = 0; i < l->count[purpose]; i++) {
        uint32_t node = l->list[purpose][i];
        if (j->gnn->part_of[node] != (uint32_t)pool->rank) continue;
        if (own++ / TOGETHER % pool->workers != j->member->index) continue;
        h->top[h->tops++] = node;
        if (h->tops < TOGETHER) continue;
        right += count_right(j);
        h->tops = 0;
    }
    if (h->tops > 0) right += count_right(j);
    return (double)right;
}

struct accuracy accuracy_take(struct accuracy_judge *j)
{
    const struct labels *l = &j->gnn->labels;
    double began = meter_now(), sums[2];
    pool_quiesce(j->member);
    sums[0] = right_of(j, LABELS_VALIDATE);
    sums[1] = right_of(j, LABELS_TEST);
    pool_sum(j->member, sums, 2);
    return (struct accuracy){.validation = sums[0] / l->count[LABELS_VALIDATE],
                             .test = sums[1] / l->count[LABELS_TEST],
                             .seconds = meter_now() - began};
}
