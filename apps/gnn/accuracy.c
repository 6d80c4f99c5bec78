#include "accuracy.h"

#include "fail.h"
#include "meter.h"

#include <stdlib.h>

enum { TOGETHER = 128 };

void accuracy_open(struct accuracy_judge *j, const struct gnn *g, struct pool_member *m)
{
    *j = (struct accuracy_judge){.gnn = g, .member = m};
    neighbourhood_maker_init(&j->maker, g, TOGETHER, g->options.neighbours, 0);
    j->maker.is_fixed = true;
    neighbourhood_init(&j->neighbourhood, TOGETHER);
    convolution_open(&j->convolution, g, m, TOGETHER, g->options.neighbours);
}

void accuracy_close(struct accuracy_judge *j)
{
    convolution_close(&j->convolution);
    neighbourhood_fini(&j->neighbourhood);
    neighbourhood_maker_fini(&j->maker);
}

/* The nodes in the neighbourhood, into the tally of their classes. */
static void count(struct accuracy_judge *j, double *tally)
{
    const struct labels *l = &j->gnn->labels;
    struct neighbourhood *h = &j->neighbourhood;
    struct rng unused;
    rng_init(&unused, 0, 0);
    neighbourhood_make(&j->maker, h, &unused);
    const float *odds = convolution_infer(&j->convolution, h);
    for (uint32_t t = 0; t < h->tops; t++, odds += l->classes) {
        uint32_t best = 0, is = l->class_of[h->top[t]];
        for (uint32_t c = 1; c < l->classes; c++)
            if (odds[c] > odds[best]) best = c;
        tally[is * ACCURACY_TALLY + ACCURACY_RIGHT] += best == is;
        tally[is * ACCURACY_TALLY + ACCURACY_ALL]++;
        tally[best * ACCURACY_TALLY + ACCURACY_FOUND]++;
    }
    h->tops = 0;
}

/* This worker's share of its node's part. */
static void count_all(struct accuracy_judge *j, enum labels_purpose purpose, double *tally)
{
    const struct labels *l = &j->gnn->labels;
    const struct pool *pool = j->member->pool;
    struct neighbourhood *h = &j->neighbourhood;
    uint64_t own = 0;
    h->tops = 0;
    for (uint32_t i = 0; i < l->count[purpose]; i++) {
        uint32_t node = l->list[purpose][i];
        if (j->gnn->part_of[node] != pool_node(j->member)) continue;
        if (own++ / TOGETHER % pool->workers != j->member->index) continue;
        h->top[h->tops++] = node;
        if (h->tops == TOGETHER) count(j, tally);
    }
    if (h->tops > 0) count(j, tally);
}

static double share_of(const double *tally, uint32_t classes)
{
    double right = 0, all = 0;
    for (uint32_t c = 0; c < classes; c++, tally += ACCURACY_TALLY) {
        right += tally[ACCURACY_RIGHT];
        all += tally[ACCURACY_ALL];
    }
    return right / all;
}

double accuracy_f1(const double *tally, uint32_t classes)
{
    double sum = 0, count = 0;
    for (uint32_t c = 0; c < classes; c++, tally += ACCURACY_TALLY) {
        double both = tally[ACCURACY_FOUND] + tally[ACCURACY_ALL];
        if (both > 0) sum += 2 * tally[ACCURACY_RIGHT] / both;
        count += both > 0;
    }
    return sum / count;
}

struct accuracy accuracy_take(struct accuracy_judge *j)
{
    const uint32_t classes = j->gnn->labels.classes;
    const size_t figures = (size_t)classes * ACCURACY_TALLY;
    double began = meter_now(), *tally = take_memory(2 * figures, sizeof *tally);
    pool_quiesce(j->member);
    count_all(j, LABELS_VALIDATE, tally);
    count_all(j, LABELS_TEST, tally + figures);
    pool_sum(j->member, tally, 2 * figures);
    const struct accuracy a = {.validation = share_of(tally, classes),
                               .test = share_of(tally + figures, classes),
                               .f1 = accuracy_f1(tally + figures, classes),
                               .seconds = meter_now() - began};
    free(tally);
    return a;
}
