#include "choice.h"

#include "lasso_loss.h"

#include <math.h>

static bool are_alike(const struct choice *c, uint64_t a, uint64_t b, double product)
{
    double correlation = lasso_loss_correlation(c->lasso, a, b, product);
    return fabs(correlation) >= c->lasso->options.correlation;
}

/* Columns without a row in common are alike by their shifts alone: no two more than with the largest
 * shift. */
static bool are_shifts_alike(const struct choice *c, uint64_t variable)
{
    return are_alike(c, variable, c->overlap.shifted, 0);
}

static bool fits_all(const struct choice *c, uint64_t variable)
{
    const struct overlap *o = &c->overlap;
    for (size_t i = 0; i < o->found_count; i++)
        if (are_alike(c, variable, o->kept[o->found[i]], o->product[o->found[i]])) return false;
    if (o->found_count == o->count || !are_shifts_alike(c, variable)) return true;
    for (size_t i = 0; i < o->count; i++)
        if (o->search[i] != o->searches && are_alike(c, variable, o->kept[i], 0)) return false;
    return true;
}

static bool fits(void *choice, uint64_t variable, const uint64_t *chosen, size_t count)
{
    struct choice *c = choice;
    uint64_t before = c->overlap.looks;
    overlap_keep(&c->overlap, chosen, count);
    overlap_find(&c->overlap, variable);
    bool is_fit = fits_all(c, variable);
    world_computed(WORLD_COMPARED, c->overlap.looks - before);
    return is_fit;
}

static uint64_t draw(void *choice)
{
    struct choice *c = choice;
    uint64_t count = (c->lasso->columns.count - c->share + c->shares - 1) / c->shares;
    return rng_below(&c->rng, count) * c->shares + c->share;
}

void choice_open(struct choice *c, const struct lasso *l, unsigned number, uint64_t updates,
                 struct locus_schedule_config *config)
{
    *c = (struct choice){.lasso = l, .share = number, .shares = l->options.schedulers};
    overlap_open(&c->overlap, &l->columns);
    uint64_t stream = UINT64_C(2) << 40 | number;
    rng_init(&c->rng, l->options.common.seed, updates ? rng_mix(updates) ^ stream : stream);
    config->context = c;
    if (l->options.correlation < 1) config->fits = fits;
    if (l->options.order == LASSO_RANDOM) config->next = draw;
}

void choice_close(struct choice *c)
{
    overlap_close(&c->overlap);
    *c = (struct choice){0};
}
