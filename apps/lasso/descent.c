#include "descent.h"

#include "fail.h"
#include "lasso_loss.h"
#include "lasso_report.h"
#include "lasso_save.h"
#include "params.h"
#include "counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The extra figures. The two large ones come in two parts each: one on a grid so coarse that sums
 * of it are exact, and the rest. */
enum { LOSS, LOSS_REST, ABSOLUTE, ABSOLUTE_REST, NONZERO, SLOPE };
_Static_assert(SLOPE + 1 == ROUNDS_EXTRA, "each figure has a place");

struct descent {
    const struct lasso *lasso;
    struct pool_member *member;
    struct rounds rounds;
    struct lasso_loss loss;
    uint64_t *from, *to; /* of each column: its values in this worker's rows */
    double *figures, *changes;
    float *own; /* coefficients of a round that are this worker's */
    locus_key *own_keys;
    double absolute, nonzero; /* of the coefficients that are this worker's */
    double grid;
    /* Columns, and behind them the intercept, that have been updated since anything changed by more
     * than the tolerance: `seen` is the number of that time. */
    uint32_t *seen, time;
    uint64_t at_rest, variables;
    uint64_t intercept_each; /* one round in so many has a step of the intercept; 0: none has */
    struct lasso_progress progress;
    double began_s;
};

/* ---- life ---- */

static void take_rows(struct descent *d)
{
    const struct columns *c = &d->lasso->columns;
    uint64_t first, end;
    pool_share(c->rows, d->member->place, d->member->total, &first, &end);
    lasso_loss_open(&d->loss, d->lasso, (uint32_t)first, (uint32_t)end);
    d->from = take_memory(c->count, sizeof *d->from);
    d->to = take_memory(c->count, sizeof *d->to);
    for (uint32_t j = 0; j < c->count; j++) {
        d->from[j] = columns_find(c, j, (uint32_t)first);
        d->to[j] = columns_find(c, j, (uint32_t)end);
    }
}

/* The intercept's step looks at all rows: about as much work as the coefficients' meanwhile. */
static uint64_t rounds_of_intercept(const struct lasso *l)
{
    enum { EACH_MIN = 4 };
    const struct columns *c = &l->columns;
    double values = (double)c->start[c->count] / c->count * (double)l->options.width;
    if (l->options.loss != LASSO_LOGISTIC) return 0;
    return (uint64_t)fmax(ceil(c->rows / (values + 1)), EACH_MIN);
}

static void open_descent(struct descent *d, const struct lasso *l, struct pool_member *m,
                         struct rounds_here *here)
{
    size_t width = l->options.width;
    *d = (struct descent){.lasso = l, .member = m, .time = 1};
    take_rows(d);
    d->figures = take_memory(width * ROUNDS_FIGURES + ROUNDS_EXTRA, sizeof *d->figures);
    d->changes = take_memory(width, sizeof *d->changes);
    d->own = take_memory(width, sizeof *d->own);
    d->own_keys = take_memory(width, sizeof *d->own_keys);
    d->variables = l->columns.count + (l->options.loss == LASSO_LOGISTIC);
    d->seen = take_memory(d->variables, sizeof *d->seen);
    d->intercept_each = rounds_of_intercept(l);
    d->grid = ldexp(1, ilogb(l->columns.response_squares) - 18);
    rounds_open(&d->rounds, l, m, here);
    d->began_s = meter_now();
}

static void close_descent(struct descent *d)
{
    rounds_close(&d->rounds);
    lasso_loss_close(&d->loss);
    free(d->from);
    free(d->to);
    free(d->figures);
    free(d->changes);
    free(d->own);
    free(d->own_keys);
    free(d->seen);
}

/* ---- coefficients ---- */

static bool is_own(const struct descent *d, size_t part)
{
    return d->rounds.parts[part].worker == d->member->place;
}

/* Of this worker's parts, in their order. */
static size_t own_coefficients(struct descent *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->rounds.count; i++)
        if (is_own(d, i)) d->own_keys[n++] = d->rounds.parts[i].variable;
    const float *values = d->member->pool->tables[LASSO_COEFFICIENTS].values;
    if (d->member->worker) must(locus_pull(d->member->worker, d->own_keys, n, d->own), "pull");
    for (size_t i = 0; i < n && !d->member->worker; i++) d->own[i] = values[d->own_keys[i]];
    return n;
}

static void write_own(struct descent *d, size_t n)
{
    float *values = d->member->pool->tables[LASSO_COEFFICIENTS].values;
    if (d->member->worker) must(locus_set(d->member->worker, d->own_keys, n, d->own), "set");
    for (size_t i = 0; i < n && !d->member->worker; i++) values[d->own_keys[i]] = d->own[i];
}

/* ---- a round ---- */

static void add_extra(const struct descent *d, double *extra, bool is_wanted)
{
    memset(extra, 0, ROUNDS_EXTRA * sizeof *extra);
    if (!is_wanted) return;
    double loss = lasso_loss_value(&d->loss), weighed = d->absolute * d->progress.lambda;
    extra[LOSS] = d->grid * round(loss / d->grid);
    extra[LOSS_REST] = loss - extra[LOSS];
    extra[ABSOLUTE] = d->grid * round(weighed / d->grid);
    extra[ABSOLUTE_REST] = weighed - extra[ABSOLUTE];
    extra[NONZERO] = d->nonzero;
    extra[SLOPE] = lasso_loss_slope(&d->loss);
}

static void add_figures(struct descent *d)
{
    size_t own = 0;
    own_coefficients(d);
    for (size_t i = 0; i < d->rounds.count; i++) {
        uint64_t j = d->rounds.parts[i].variable;
        double *figures = d->figures + i * ROUNDS_FIGURES;
        figures[0] = lasso_loss_product(&d->loss, d->from[j], d->to[j]);
        figures[1] = is_own(d, i) ? (double)d->own[own++] : 0;
    }
}

/* Of a column, or of the intercept, which is behind the last. */
static void note_change(struct descent *d, uint64_t variable, double change)
{
    const struct lasso *l = d->lasso;
    if (fabs(change) > l->options.tolerance * sqrt(l->columns.response_squares)) {
        d->time++;
        d->at_rest = 0;
    } else if (d->seen[variable] != d->time) {
        d->seen[variable] = d->time;
        d->at_rest++;
    }
}

/* All workers compute the same from the same sums. */
static void update_part(struct descent *d, size_t i, size_t *own, bool steps)
{
    uint64_t j = d->rounds.parts[i].variable;
    double product = d->figures[i * ROUNDS_FIGURES], old = d->figures[i * ROUNDS_FIGURES + 1];
    float now = (float)old;
    if (steps) now = (float)lasso_loss_best(&d->loss, j, product, old, d->progress.lambda);
    if (!isfinite(product + old))
        fail("the coefficients diverge: choose a smaller --width or --correlation");
    d->changes[i] = (double)now - old;
    if (is_own(d, i)) {
        d->own[(*own)++] = now;
        d->absolute += fabs((double)now) - fabs(old);
        d->nonzero += (fabs((double)now) > 0) - (fabs(old) > 0);
    }
}

/* The filter holds for the intercept, too: what it has too much in common with waits. */
static bool steps_beside(const struct descent *d, uint64_t column, bool has_intercept)
{
    const struct lasso *l = d->lasso;
    if (!has_intercept || l->options.correlation >= 1) return true;
    return lasso_loss_mean(l, column) < l->options.correlation;
}

/* Nothing changes before all products have been used: rows may change in common. */
static void update(struct descent *d, bool has_intercept)
{
    size_t own = 0;
    for (size_t i = 0; i < d->rounds.count; i++)
        update_part(d, i, &own, steps_beside(d, d->rounds.parts[i].variable, has_intercept));
    write_own(d, own);
    for (size_t i = 0; i < d->rounds.count; i++) {
        uint64_t j = d->rounds.parts[i].variable;
        double change = d->changes[i];
        if (steps_beside(d, j, has_intercept)) note_change(d, j, change);
        if (fabs(change) > 0) lasso_loss_change(&d->loss, j, d->from[j], d->to[j], change);
    }
    if (!has_intercept) return;
    double slope = d->figures[d->rounds.count * ROUNDS_FIGURES + SLOPE];
    note_change(d, d->lasso->columns.count, lasso_loss_step(&d->loss, slope));
}

/* The objective before the round, where it was asked for. */
static void read_extra(struct descent *d)
{
    const double *extra = d->figures + d->rounds.count * ROUNDS_FIGURES;
    d->progress.objective = extra[LOSS] + extra[LOSS_REST] + extra[ABSOLUTE] + extra[ABSOLUTE_REST];
    d->progress.nonzero = extra[NONZERO];
    d->progress.seconds = meter_now() - d->began_s;
}

/* The intercept has its rounds at random, the same on all workers: in turn, they might be the same
 * columns' each time. */
static bool is_intercepts(const struct descent *d)
{
    return d->intercept_each && rng_mix(d->progress.rounds) % d->intercept_each == 0;
}

static void do_round(struct descent *d, bool wants_objective)
{
    bool has_intercept = is_intercepts(d);
    rounds_schedule(&d->rounds);
    add_figures(d);
    add_extra(d, d->figures + d->rounds.count * ROUNDS_FIGURES, wants_objective || has_intercept);
    rounds_sum(&d->rounds, d->figures);
    if (wants_objective) read_extra(d);
    update(d, has_intercept);
    rounds_changed(&d->rounds, d->changes);
    d->progress.rounds++;
    d->progress.updates += d->rounds.count;
}

/* ---- a path ---- */

static bool is_first(const struct descent *d)
{
    return d->member->place == 0;
}

/* The objective is asked for once a pass: it costs as much as some updates. The last round is one
 * more, for what has become of all. */
static void descend(struct descent *d)
{
    const struct lasso *l = d->lasso;
    uint64_t count = l->columns.count, first = d->progress.updates;
    uint64_t limit = first + l->options.passes * count, next = first;
    d->time++;
    d->at_rest = 0;
    while (d->at_rest < d->variables && d->progress.updates < limit) {
        bool wants_objective = d->progress.updates >= next;
        do_round(d, wants_objective);
        if (!wants_objective) continue;
        next += count;
        if (is_first(d)) lasso_report_progress(l, &d->progress);
    }
    d->progress.is_converged = d->at_rest >= d->variables;
    do_round(d, true);
}

static void descend_path(struct descent *d, struct meter *meter)
{
    const struct lasso *l = d->lasso;
    if (is_first(d)) meter_begin(meter, "path", "steps", l->options.path);
    for (uint64_t step = 0; step < l->options.path; step++) {
        d->progress.step = step;
        d->progress.lambda = lasso_lambda(l, step);
        descend(d);
        if (!is_first(d)) continue;
        meter_set(meter, step + 1);
        lasso_report_step(l, &d->progress);
    }
    if (is_first(d)) meter_end(meter);
}

void descent_work(struct pool_member *m, void *context)
{
    struct descent_here *here = context;
    struct descent d;
    double waits[3] = {0};
    pool_settle(m);
    open_descent(&d, here->lasso, m, &here->rounds);
    descend_path(&d, &here->meter);
    rounds_waits(&d.rounds, &waits[0], &waits[1]);
    double intercept = d.loss.intercept;
    close_descent(&d);
    pool_sum(m, waits, 2);
    struct locus_stats stats = counters_take(m);
    if (m->place == 0 && m->worker) {
        bool json = here->lasso->options.common.json;
        lasso_report_waits(here->lasso, waits[0] / m->total, waits[1] / m->total);
        counters_show(&stats, "accesses", m->pool->size, json);
    }
    if (m->place == 0 && here->lasso->options.common.out) lasso_save(here->lasso, m, intercept);
}
