#include "priors.h"

#include "rows.h"

#include <math.h>

/* ---- a distribution ---- */

/* The slope of log gamma: by its recurrence to where its series is exact to 1e-13. */
static double digamma(double x)
{
    const double enough = 10;
    double sum = 0;
    while (x < enough) {
        sum -= 1 / x;
        x++;
    }
    double square = 1 / (x * x);
    return sum + log(x) - 1 / (2 * x) -
           square * (1 / 12.0 - square * (1 / 120.0 - square * (1 / 252.0 - square / 240)));
}

void prior_add_count(struct prior *p, double count)
{
    if (count > 0) p->up += digamma(count + p->parameter) - digamma(p->parameter);
}

void prior_add_total(struct prior *p, double total)
{
    double all = p->size * p->parameter;
    if (total > 0) p->down += digamma(total + all) - digamma(all);
}

/* Within what the options allow. */
double prior_next(const struct prior *p)
{
    if (!(p->up > 0 && p->down > 0)) return p->parameter;
    return fmin(fmax(p->parameter * p->up / (p->size * p->down), 1e-6), 1000);
}

/* ---- both ---- */

struct words {
    struct prior beta;
    size_t topics;
};

static void add_word(void *words, uint64_t word, const float *row)
{
    struct words *w = words;
    (void)word;
    for (size_t k = 0; k < w->topics; k++) prior_add_count(&w->beta, (double)row[k]);
}

void priors_learn(const struct lda *l, struct sampler *s, struct word_rows *r)
{
    const struct shelf *shelf = s->shelf;
    struct prior alpha = {.parameter = s->alpha, .size = (double)s->topics};
    struct words w = {{.parameter = s->beta, .size = l->corpus.words}, s->topics};
    uint64_t first, end;
    for (uint32_t d = 0; d < shelf->documents; d++) {
        const struct shelf_pair *p = shelf->pairs + shelf->pair_start[d];
        for (uint32_t i = 0; i < shelf->pair_count[d]; i++) prior_add_count(&alpha, p[i].count);
        prior_add_total(&alpha, shelf->length[d]);
    }
    pool_share(l->corpus.words, r->member->place, r->member->total, &first, &end);
    rows_visit(r->member, LDA_WORDS, first, end, add_word, &w);
    for (size_t k = 0; k < s->topics && r->member->place == 0; k++)
        prior_add_total(&w.beta, s->totals[k]);
    double sums[] = {alpha.up, alpha.down, w.beta.up, w.beta.down};
    pool_sum(r->member, sums, sizeof sums / sizeof *sums);
    alpha.up = sums[0];
    alpha.down = sums[1];
    w.beta.up = sums[2];
    w.beta.down = sums[3];
    sampler_set_priors(s, prior_next(&alpha), prior_next(&w.beta));
}
