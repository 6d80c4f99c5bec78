#include "descent.h"

#include "descent_rows.h"
#include "fail.h"
#include "lasso_loss.h"
#include "lasso_report.h"
#include "lasso_save.h"
#include "lasso_test.h"
#include "params.h"
#include "path.h"
#include "training.h"
#include "counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The extra figures. The two large ones come in two parts each: one on a grid so coarse that sums
 * of it are exact, and the rest. */
enum { LOSS, LOSS_REST, PENALTY, PENALTY_REST, NONZERO, SLOPE, CURVATURE, IS_DUE };
_Static_assert(IS_DUE + 1 == ROUNDS_EXTRA, "each figure has a place");

/* A round under way. */
struct pending {
    struct round round;
    double shift; /* the errors' common part when the products were taken */
    bool wants_objective, has_intercept;
};

/* Of a part, summed over the workers. */
enum { PRODUCT, COEFFICIENT, PART_CURVATURE };

struct descent {
    const struct lasso *lasso;
    struct pool_member *member;
    struct rounds rounds;
    struct checkpoints *checkpoints;
    struct lasso_loss loss;
    struct path path;    /* the first worker's */
    struct turns turns;  /* of columns, and behind them the intercept */
    uint64_t *from, *to; /* of each column: its values in this worker's rows */
    struct pending
        pending[LASSO_STALENESS_MAX + 1]; /* rounds that began, behind those that ended */
    uint64_t begun, begun_updates;
    double *figures, *changes;
    float *own; /* coefficients of a round that are this worker's */
    locus_key *own_keys;
    double penalty, nonzero; /* of the coefficients that are this worker's */
    double grid;
    uint64_t intercept_each; /* one round in so many has a step of the intercept; 0: none has */
    struct lasso_progress progress;
    /* Updates at the beginning of the step, and when the objective is wanted next; and how often it
     * was: passes. */
    uint64_t first, next, passes;
    bool is_due;  /* a checkpoint, by the last round with an objective */
    bool goes_on; /* within the step, from a checkpoint */
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
    *d = (struct descent){.lasso = l, .member = m};
    take_rows(d);
    d->figures = take_memory(width * rounds_figures(l) + ROUNDS_EXTRA, sizeof *d->figures);
    d->changes = take_memory(width, sizeof *d->changes);
    d->own = take_memory(width, sizeof *d->own);
    d->own_keys = take_memory(width, sizeof *d->own_keys);
    turns_open(&d->turns, lasso_variables(l));
    d->intercept_each = rounds_of_intercept(l);
    d->grid = ldexp(1, ilogb(l->columns.response_squares) - 18);
    rounds_init(&d->rounds, l, m, here);
}

static void close_descent(struct descent *d)
{
    rounds_fini(&d->rounds);
    lasso_loss_close(&d->loss);
    turns_close(&d->turns);
    path_end(&d->path);
    free(d->from);
    free(d->to);
    free(d->figures);
    free(d->changes);
    free(d->own);
    free(d->own_keys);
}

/* ---- coefficients ---- */

static bool is_own(const struct descent *d, struct locus_part part)
{
    return part.worker == d->member->place;
}

/* This worker's, in their order. */
static size_t find_own(struct descent *d, const struct round *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++)
        if (is_own(d, r->parts[i])) d->own_keys[n++] = r->parts[i].variable;
    return n;
}

static void read_own(struct descent *d, const struct round *r)
{
    size_t n = find_own(d, r);
    const float *values = d->member->pool->tables[LASSO_COEFFICIENTS].values;
    if (d->member->worker) must(locus_pull(d->member->worker, d->own_keys, n, d->own), "pull");
    for (size_t i = 0; i < n && !d->member->worker; i++) d->own[i] = values[d->own_keys[i]];
}

static void write_own(struct descent *d, const struct round *r)
{
    size_t n = find_own(d, r);
    float *values = d->member->pool->tables[LASSO_COEFFICIENTS].values;
    if (d->member->worker) must(locus_set(d->member->worker, d->own_keys, n, d->own), "set");
    for (size_t i = 0; i < n && !d->member->worker; i++) values[d->own_keys[i]] = d->own[i];
}

/* ---- a round ---- */

static void add_objective(const struct descent *d, double *extra)
{
    double loss = lasso_loss_value(&d->loss), weighed = d->penalty * d->progress.lambda;
    extra[LOSS] = d->grid * round(loss / d->grid);
    extra[LOSS_REST] = loss - extra[LOSS];
    extra[PENALTY] = d->grid * round(weighed / d->grid);
    extra[PENALTY_REST] = weighed - extra[PENALTY];
    extra[NONZERO] = d->nonzero;
    const struct progress behind = {.epochs = d->passes + 1};
    if (d->progress.updates > 0)
        extra[IS_DUE] = checkpoints_is_due(d->checkpoints, d->member, &behind);
}

/* Each of the two looks at all rows. */
static void add_extra(const struct descent *d, const struct pending *p, double *extra)
{
    memset(extra, 0, ROUNDS_EXTRA * sizeof *extra);
    if (p->wants_objective) add_objective(d, extra);
    if (!p->has_intercept) return;
    const struct lasso_slope slope = lasso_loss_slope(&d->loss);
    extra[SLOPE] = slope.product;
    extra[CURVATURE] = slope.curvature;
}

/* Are curvatures summed up? */
static bool is_curved(const struct descent *d)
{
    return rounds_figures(d->lasso) > PART_CURVATURE;
}

static double *part_figures(const struct descent *d, size_t i)
{
    return d->figures + i * rounds_figures(d->lasso);
}

/* Behind those of the parts. */
static double *extra_figures(const struct descent *d, const struct round *r)
{
    return part_figures(d, r->count);
}

static void add_figures(struct descent *d, const struct round *r)
{
    size_t own = 0, values = 0;
    read_own(d, r);
    for (size_t i = 0; i < r->count; i++) {
        uint64_t j = lasso_column(d->lasso, r->parts[i].variable);
        double *figures = part_figures(d, i);
        values += d->to[j] - d->from[j];
        const struct lasso_slope slope = lasso_loss_product(&d->loss, d->from[j], d->to[j]);
        figures[PRODUCT] = slope.product;
        figures[COEFFICIENT] = is_own(d, r->parts[i]) ? (double)d->own[own++] : 0;
        if (is_curved(d)) figures[PART_CURVATURE] = slope.curvature;
    }
    world_computed(WORLD_TRAINED, values);
}

/* Of a column, or of the intercept, which is behind the last. */
static void note_change(struct descent *d, uint64_t variable, double change)
{
    const struct lasso *l = d->lasso;
    double least = l->options.tolerance * sqrt(l->columns.response_squares);
    turns_note(&d->turns, variable, change, fabs(change) > least);
}

/* The filter holds for the intercept, too: what it has too much in common with waits. */
static bool steps_beside(const struct descent *d, uint64_t column, bool has_intercept)
{
    const struct lasso *l = d->lasso;
    if (!has_intercept || l->options.correlation >= 1) return true;
    return lasso_loss_mean(l, column) < l->options.correlation;
}

/* All workers compute the same from the same sums. */
static void update_part(struct descent *d, const struct pending *p, size_t i, size_t *own)
{
    struct locus_part part = p->round.parts[i];
    uint64_t j = lasso_column(d->lasso, part.variable);
    const double *figures = part_figures(d, i);
    const struct lasso_slope slope = {figures[PRODUCT], is_curved(d) ? figures[PART_CURVATURE] : 1};
    double old = figures[COEFFICIENT];
    float now = (float)old;
    if (!isfinite(slope.product + slope.curvature + old))
        fail("the coefficients diverge: choose a smaller --width or --correlation");
    if (steps_beside(d, j, p->has_intercept))
        now = (float)lasso_loss_best(&d->loss, j, slope, p->shift, old, d->progress.lambda);
    d->changes[i] = (double)now - old;
    path_note(&d->path, part.variable, now);
    if (!is_own(d, part)) return;
    d->own[(*own)++] = now;
    d->penalty += lasso_loss_penalty(d->lasso, j, now) - lasso_loss_penalty(d->lasso, j, old);
    d->nonzero += (fabs((double)now) > 0) - (fabs(old) > 0);
}

/* Nothing changes before all products have been used: rows may change in common. */
static void update(struct descent *d, const struct pending *p)
{
    const struct round *r = &p->round;
    size_t own = 0, values = 0;
    for (size_t i = 0; i < r->count; i++) update_part(d, p, i, &own);
    write_own(d, r);
    for (size_t i = 0; i < r->count; i++) {
        uint64_t j = lasso_column(d->lasso, r->parts[i].variable);
        double change = d->changes[i];
        if (steps_beside(d, j, p->has_intercept)) note_change(d, r->parts[i].variable, change);
        if (fabs(change) <= 0) continue;
        lasso_loss_change(&d->loss, j, d->from[j], d->to[j], change);
        values += d->to[j] - d->from[j];
    }
    world_computed(WORLD_TRAINED, values);
    if (!p->has_intercept) return;
    const double *extra = extra_figures(d, r);
    const struct lasso_slope slope = {extra[SLOPE], extra[CURVATURE]};
    note_change(d, d->lasso->columns.count, lasso_loss_step(&d->loss, slope));
}

/* Columns that are nearly independent may be less so where curvatures differ. */
static void take_care(struct descent *d, double before)
{
    const double first = 1.0 / 16, more = 4, rounding = 1e-9;
    if (before <= 0 || d->progress.objective <= before * (1 + rounding)) return;
    d->loss.caution = fmin(fmax(d->loss.caution * more, first), 1);
}

/* The objective before the round, where it was asked for. */
static void read_extra(struct descent *d, const struct round *r)
{
    const double *extra = extra_figures(d, r), before = d->progress.objective;
    d->progress.objective = extra[LOSS] + extra[LOSS_REST] + extra[PENALTY] + extra[PENALTY_REST];
    take_care(d, before);
    d->progress.nonzero = extra[NONZERO];
    d->is_due = extra[IS_DUE] > 0;
    d->progress.seconds = meter_now() - d->began_s;
}

/* The intercept has its rounds at random, the same on all workers: in turn, they might be the same
 * columns' each time. */
static bool is_intercepts(const struct descent *d)
{
    return d->intercept_each && rng_mix(d->begun) % d->intercept_each == 0;
}

static struct pending *pending_of(struct descent *d, uint64_t round)
{
    return &d->pending[round % (LASSO_STALENESS_MAX + 1)];
}

static void begin_round(struct descent *d, bool wants_objective)
{
    struct pending *p = pending_of(d, d->begun);
    *p = (struct pending){.round = rounds_schedule(&d->rounds),
                          .shift = d->loss.shift,
                          .wants_objective = wants_objective,
                          .has_intercept = is_intercepts(d)};
    add_figures(d, &p->round);
    add_extra(d, p, extra_figures(d, &p->round));
    rounds_push(&d->rounds, &p->round, d->figures);
    d->begun++;
    d->begun_updates += p->round.count;
}

/* The oldest that has not ended. Has it the objective? */
static bool end_round(struct descent *d)
{
    const struct pending *p = pending_of(d, d->progress.rounds);
    rounds_sum(&d->rounds, &p->round, d->figures);
    if (p->wants_objective) read_extra(d, &p->round);
    update(d, p);
    rounds_changed(&d->rounds, &p->round, d->changes);
    d->progress.rounds++;
    d->progress.updates += p->round.count;
    return p->wants_objective;
}

/* ---- checkpoints ---- */

static bool is_first(const struct descent *d)
{
    return d->member->place == 0;
}

/* What all workers know alike, and the sums of what each knows of its own coefficients. */
enum {
    STEP,
    ROUNDS,
    UPDATES,
    FIRST,
    NEXT,
    OF_LOSS, /* of squares the shift, of the logistic loss the caution */
    INTERCEPT,
    OWN_PENALTY,
    OWN_NONZERO,
    OBJECTIVE,
    IS_CONVERGED,
    TOLERANCE
};
_Static_assert((int)TOLERANCE < (int)CHECKPOINTS_FIGURES, "each figure has a place");

static struct progress progress_of(const struct descent *d, const double *own)
{
    return (struct progress){
        .epochs = d->passes,
        .figures = {[STEP] = (double)d->progress.step,
                    [ROUNDS] = (double)d->progress.rounds,
                    [UPDATES] = (double)d->progress.updates,
                    [FIRST] = (double)d->first,
                    [NEXT] = (double)d->next,
                    [OF_LOSS] = d->loss.margin ? d->loss.caution : d->loss.shift,
                    [INTERCEPT] = d->loss.intercept,
                    [OWN_PENALTY] = own[0],
                    [OWN_NONZERO] = own[1],
                    [OBJECTIVE] = d->progress.objective,
                    [IS_CONVERGED] = d->progress.is_converged,
                    [TOLERANCE] = d->lasso->options.tolerance}};
}

/* The coefficients belong to other workers where there are as many others: the first one counts
 * all, until they change. */
static void take_progress(struct descent *d, const struct progress *p)
{
    const double *f = p->figures;
    d->passes = p->epochs;
    d->progress.step = (uint64_t)f[STEP];
    d->progress.rounds = (uint64_t)f[ROUNDS];
    d->progress.updates = (uint64_t)f[UPDATES];
    d->begun = d->progress.rounds;
    d->begun_updates = d->progress.updates;
    d->first = (uint64_t)f[FIRST];
    d->next = (uint64_t)f[NEXT];
    *(d->loss.margin ? &d->loss.caution : &d->loss.shift) = f[OF_LOSS];
    d->loss.intercept = f[INTERCEPT];
    d->progress.objective = f[OBJECTIVE];
    d->progress.nonzero = f[OWN_NONZERO];
    d->progress.is_converged = f[IS_CONVERGED] > 0;
    d->progress.seconds = p->seconds;
    if (f[TOLERANCE] != d->lasso->options.tolerance) { /* what rests is to be found anew */
        d->progress.is_converged = false;
        turns_disturb(&d->turns);
    }
    if (!is_first(d)) return;
    d->penalty = f[OWN_PENALTY];
    d->nonzero = f[OWN_NONZERO];
}

/* Schedulers would not come to the meetings of a checkpoint: they are closed, and begin anew where
 * they were. */
static void write_checkpoint(struct descent *d)
{
    double own[] = {d->penalty, d->nonzero};
    rounds_close(&d->rounds);
    pool_sum(d->member, own, 2);
    const struct progress p = progress_of(d, own);
    descent_rows_write(d->member, &d->loss, &d->turns);
    checkpoints_write(d->checkpoints, d->member, &p);
}

static void go_on(struct descent *d)
{
    rounds_clear(&d->rounds);
    pool_quiesce(d->member);
    rounds_open(&d->rounds, &d->turns, d->progress.updates);
}

/* ---- a path ---- */

static void begin_step(struct descent *d)
{
    d->first = d->next = d->progress.updates;
    turns_disturb(&d->turns);
}

/* The objective of the round that ended last was asked for: a pass is over, unless it was the first
 * round of all. */
static void end_pass(struct descent *d)
{
    if (is_first(d)) lasso_report_progress(d->lasso, &d->progress);
    if (d->progress.rounds > 1) d->passes++;
}

static void end_all(struct descent *d)
{
    while (d->progress.rounds < d->begun)
        if (end_round(d)) end_pass(d);
}

static void begin_some(struct descent *d)
{
    while (d->begun <= d->progress.rounds + d->lasso->options.staleness) {
        bool wants_objective = d->begun_updates >= d->next;
        if (wants_objective) d->next += d->lasso->columns.count;
        begin_round(d, wants_objective);
    }
}

/* A checkpoint has no rounds under way. */
static void end_one(struct descent *d)
{
    if (!end_round(d)) return;
    end_pass(d);
    if (!d->is_due) return;
    end_all(d);
    write_checkpoint(d);
    go_on(d);
}

/* Of updates, in this step. */
static uint64_t limit_of(const struct descent *d)
{
    return d->first + d->lasso->options.common.epochs * d->lasso->columns.count;
}

/* The objective is asked for once a pass: it costs as much as some updates. The last round is one
 * more, for what has become of all. */
static void descend(struct descent *d)
{
    uint64_t limit = limit_of(d);
    while (d->turns.at_rest < d->turns.variables && d->progress.updates < limit) {
        begin_some(d);
        end_one(d);
    }
    d->progress.is_converged = d->turns.at_rest >= d->turns.variables;
    while (d->progress.rounds < d->begun) end_round(d);
    begin_round(d, true);
    end_round(d);
}

static void descend_path(struct descent *d, struct meter *meter)
{
    const struct lasso *l = d->lasso;
    if (is_first(d)) meter_begin(meter, "path", "steps", l->options.path);
    for (uint64_t step = d->progress.step; step < l->options.path; step++) {
        d->progress.step = step;
        d->progress.lambda = lasso_lambda(l, step);
        if (!d->goes_on) begin_step(d);
        d->goes_on = false;
        descend(d);
        path_end_step(&d->path, step, d->loss.intercept);
        if (!is_first(d)) continue;
        meter_set(meter, step + 1);
        lasso_report_step(l, &d->progress);
    }
    if (is_first(d)) meter_end(meter);
    if (!d->checkpoints->folder) {
        rounds_close(&d->rounds);
    } else if (d->progress.step < l->options.path) {
        d->progress.step = l->options.path;
        d->passes++;
        write_checkpoint(d);
    }
}

/* A run that was over before: with more passes its last lambda goes on, unless it has converged.
 * Otherwise there is its result. */
static bool goes_on_behind_end(struct descent *d)
{
    d->progress.step = d->lasso->options.path - 1;
    if (!d->progress.is_converged && d->progress.updates < limit_of(d)) return true;
    d->progress.lambda = lasso_lambda(d->lasso, d->progress.step);
    if (is_first(d)) lasso_report_step(d->lasso, &d->progress);
    return false;
}

/* Returns whether there is something left to do. */
static bool begin(struct descent *d)
{
    struct progress p;
    d->goes_on = checkpoints_resume(d->checkpoints, d->member, &p);
    if (d->goes_on) {
        descent_rows_read(d->member, &d->loss, &d->turns);
        take_progress(d, &p);
        rounds_clear(&d->rounds);
    }
    pool_quiesce(d->member);
    path_begin(&d->path, d->lasso, d->member);
    checkpoints_begin(d->checkpoints, d->member, &p);
    d->began_s = meter_now() - p.seconds;
    pool_meet_here(d->member);
    if (d->progress.step == d->lasso->options.path && !goes_on_behind_end(d)) return false;
    rounds_open(&d->rounds, &d->turns, d->progress.updates);
    return true;
}

static void use_models(const struct lasso *l, struct pool_member *m, double intercept)
{
    struct lasso_models models;
    if (!l->options.common.out && !l->options.test) return;
    lasso_models_take(&models, l, m, intercept);
    if (l->options.test) lasso_test(l, &models);
    if (l->options.common.out) lasso_save(l, &models);
    lasso_models_fini(&models);
}

void descent_work(struct pool_member *m, void *training)
{
    struct training *t = training;
    struct descent_here *here = t->program;
    const struct lasso *l = &here->lasso;
    struct descent d;
    double waits[3] = {0};
    open_descent(&d, l, m, &here->rounds);
    d.checkpoints = &t->checkpoints;
    if (begin(&d)) descend_path(&d, &t->meter);
    rounds_waits(&d.rounds, &waits[0], &waits[1]);
    double intercept = d.loss.intercept;
    close_descent(&d);
    pool_sum(m, waits, 2);
    struct locus_stats stats = counters_take(m);
    if (m->place == 0 && m->worker) {
        bool json = l->options.common.json;
        lasso_report_waits(l, waits[0] / m->total, waits[1] / m->total);
        counters_show(&stats, "accesses", m->pool->size, json);
    }
    if (m->place == 0) use_models(l, m, intercept);
}
