#include "choice.h"

#include "fail.h"
#include "lasso_loss.h"

#include <math.h>
#include <stdlib.h>

static double correlation(const struct choice *c, uint64_t candidate, uint64_t other)
{
    const struct columns *m = &c->lasso->columns;
    double product = columns_dot(m, m->start[other], m->start[other + 1], c->rows);
    return lasso_loss_correlation(c->lasso, candidate, other, product);
}

static bool fits(void *choice, uint64_t variable, const uint64_t *chosen, size_t count)
{
    struct choice *c = choice;
    const struct columns *m = &c->lasso->columns;
    uint64_t first = m->start[variable], end = m->start[variable + 1];
    bool is_fit = true;
    columns_add(m, first, end, 1, c->rows);
    for (size_t i = 0; i < count && is_fit; i++)
        is_fit = fabs(correlation(c, variable, chosen[i])) < c->lasso->options.correlation;
    for (uint64_t i = first; i < end; i++) c->rows[m->row[i]] = 0;
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
    c->rows = take_memory(l->columns.rows, sizeof *c->rows);
    uint64_t stream = UINT64_C(2) << 40 | number;
    rng_init(&c->rng, l->options.common.seed, updates ? rng_mix(updates) ^ stream : stream);
    config->context = c;
    if (l->options.correlation < 1) config->fits = fits;
    if (l->options.order == LASSO_RANDOM) config->next = draw;
}

void choice_close(struct choice *c)
{
    free(c->rows);
    *c = (struct choice){0};
}
