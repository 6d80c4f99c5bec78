#include "descent.h"

#include "turns.h"
#include "fail.h"
#include "lasso_loss.h"
#include "params.h"
#include "results.h"
#include "rows.h"
#include "training.h"
#include "figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The extra figures. Where floats have too few digits there are two: one on a grid so coarse that
 * sums of it are exact, and the rest. */
enum { LOSS, LOSS_REST, PENALTY, PENALTY_REST, NONZERO, IS_DUE };
_Static_assert(IS_DUE + 1 == ROUNDS_EXTRA, "each figure has a place");

/* A round under way. */
struct pending {
    struct round round;
    double shift; /* the errors' common part when the products were taken */
    bool wants_objective;
};

/* Of a part, summed over the workers. */
enum { PRODUCT, PRODUCT_REST };
_Static_assert(PRODUCT_REST + 1 == ROUNDS_FIGURES, "each figure has a place");

struct descent {
    const struct lasso *lasso;
    struct pool_member *member;
    struct rounds rounds;
    struct checkpoints *checkpoints;
    struct lasso_loss loss;
    struct turns turns;
    uint64_t *from, *to; /* of each column: its values in this worker's rows */
    float *now;          /* all coefficients, by column */
    uint64_t now_count;  /* of them, those that are not 0 */
    double *products;    /* of each column, as of a part, when all were looked at last; and extra
                            figures */
    struct pending
        pending[LASSO_STALENESS_MAX + 1]; /* rounds that began, behind those that ended */
    uint64_t begun, begun_updates;
    double *figures, *changes;
    float *own; /* coefficients of a round that are this worker's */
    locus_key *own_keys;
    double penalty, nonzero; /* of the coefficients that are this worker's */
    double grid, product_grid;
    struct lasso_progress progress;
    /* Updates when the objective is wanted next; and how often it was: passes. */
    uint64_t next, passes;
    bool is_due;  /* a checkpoint, by the last round with an objective */
    bool goes_on; /* from a checkpoint */
    bool is_over; /* by a checkpoint: nothing was left to do */
    double began_s;
    struct counters counters; /* the node's, of its first worker */
};

/* ---- life ---- */

static void take_rows(struct descent *d)
{
    const struct columns *c = &d->lasso->columns;
    uint64_t first, end;
    pool_share(c->rows, d->member->place, d->member->total, &first, &end);
    lasso_loss_open(&d->loss, c, (uint32_t)first, (uint32_t)end);
    d->from = take_memory(c->count, sizeof *d->from);
    d->to = take_memory(c->count, sizeof *d->to);
    for (uint32_t j = 0; j < c->count; j++) {
        d->from[j] = columns_find(c, j, (uint32_t)first);
        d->to[j] = columns_find(c, j, (uint32_t)end);
    }
}

/* Of figures up to 64 times as large, and some more workers' than one has. */
static double grid_of(double large)
{
    return ldexp(1, ilogb(large) - 18);
}

static void split(double figure, double grid, double *to)
{
    to[0] = grid * round(figure / grid);
    to[1] = figure - to[0];
}

static void open_descent(struct descent *d, const struct lasso *l, struct pool_member *m,
                         struct rounds_here *here)
{
    size_t width = l->width, count = l->columns.count;
    *d = (struct descent){.lasso = l, .member = m};
    take_rows(d);
    d->figures = take_memory(width * ROUNDS_FIGURES + ROUNDS_EXTRA, sizeof *d->figures);
    d->products = take_memory(count * ROUNDS_FIGURES + ROUNDS_EXTRA, sizeof *d->products);
    d->now = take_memory(count, sizeof *d->now);
    d->changes = take_memory(width, sizeof *d->changes);
    d->own = take_memory(width, sizeof *d->own);
    d->own_keys = take_memory(width, sizeof *d->own_keys);
    turns_open(&d->turns, count);
    d->grid = grid_of(l->columns.response_squares);
    d->product_grid = grid_of(sqrt(l->columns.response_squares));
    d->progress.lambda = l->largest * l->options.lambda;
    rounds_init(&d->rounds, l, m, here);
}

static void close_descent(struct descent *d)
{
    rounds_fini(&d->rounds);
    lasso_loss_close(&d->loss);
    turns_close(&d->turns);
    free(d->from);
    free(d->to);
    free(d->now);
    free(d->products);
    free(d->figures);
    free(d->changes);
    free(d->own);
    free(d->own_keys);
}

/* ---- coefficients ---- */

static void take_coefficient(void *descent, uint64_t column, const float *value)
{
    struct descent *d = descent;
    d->now[column] = *value;
    d->now_count += fabsf(*value) > 0;
}

static void draw_start(const void *lasso, uint64_t column, float *value)
{
    const struct lasso *l = lasso;
    *value = l->start[column];
}

/* The coefficients of --from: the first worker counts all, until they change. */
static void start(struct descent *d)
{
    const struct lasso *l = d->lasso;
    rows_init(d->member, LASSO_COEFFICIENTS, draw_start, l);
    for (uint64_t j = 0; j < l->columns.count; j++) {
        take_coefficient(d, j, &l->start[j]);
        if (fabsf(l->start[j]) <= 0) continue;
        lasso_loss_change(&d->loss, j, d->from[j], d->to[j], (double)l->start[j]);
        if (d->member->place > 0) continue;
        d->penalty += fabs((double)l->start[j]);
        d->nonzero++;
    }
    if (d->member->place > 0) return;
    fprintf(stderr, "%s: %" PRIu64 " of %" PRIu64 " coefficients begin as %s has them%s\n",
            fail_program(), l->start_count, l->start_of, l->options.common.from,
            l->start_count < l->start_of ? "; the data have no values in the others' columns" : "");
}

/* All are known to all workers: each writes its own. */
static void write_own(struct descent *d, const struct round *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (r->parts[i].worker != d->member->place) continue;
        d->own_keys[n] = r->parts[i].variable;
        d->own[n++] = d->now[r->parts[i].variable];
    }
    float *values = d->member->pool->tables[LASSO_COEFFICIENTS].values;
    if (d->member->worker) must(locus_set(d->member->worker, d->own_keys, n, d->own), "set");
    for (size_t i = 0; i < n && !d->member->worker; i++) values[d->own_keys[i]] = d->own[i];
}

/* ---- a round ---- */

static void add_objective(const struct descent *d, double *extra)
{
    split(lasso_loss_value(&d->loss), d->grid, &extra[LOSS]);
    split(d->penalty * d->progress.lambda, d->grid, &extra[PENALTY]);
    extra[NONZERO] = d->nonzero;
}

static void add_extra(const struct descent *d, const struct pending *p, double *extra)
{
    const struct progress behind = {.epochs = d->passes + 1};
    memset(extra, 0, ROUNDS_EXTRA * sizeof *extra);
    if (!p->wants_objective) return;
    add_objective(d, extra);
    extra[IS_DUE] = checkpoints_is_due(d->checkpoints, d->member, &behind);
}

static double *part_figures(const struct descent *d, size_t i)
{
    return d->figures + i * ROUNDS_FIGURES;
}

/* Behind those of the parts. */
static double *extra_figures(const struct descent *d, const struct round *r)
{
    return part_figures(d, r->count);
}

/* Returns how many values were looked at. */
static size_t add_product(const struct descent *d, uint64_t column, double *figures)
{
    uint64_t from = d->from[column], to = d->to[column];
    split(lasso_loss_product(&d->loss, from, to), d->product_grid, &figures[PRODUCT]);
    return to - from;
}

static void add_figures(const struct descent *d, const struct round *r)
{
    size_t values = 0;
    for (size_t i = 0; i < r->count; i++)
        values += add_product(d, r->parts[i].variable, part_figures(d, i));
    world_computed(WORLD_TRAINED, values);
}

/* What a coefficient changes to, by the sums of its figures. The next float is no change: some
 * would go to and fro between two for ever, and nothing would rest. */
static float best_of(const struct descent *d, uint64_t column, const double *figures, double shift)
{
    double product = figures[PRODUCT] + figures[PRODUCT_REST];
    float old = d->now[column];
    if (!isfinite(product + (double)old))
        fail("the coefficients diverge: choose a smaller --correlation");
    float best = (float)lasso_loss_best(&d->lasso->columns, column, product, shift, (double)old,
                                        d->progress.lambda);
    return best == nextafterf(old, best) ? old : best;
}

static bool is_large(const struct descent *d, double change)
{
    const struct lasso *l = d->lasso;
    return fabs(change) > l->options.tolerance * sqrt(l->columns.response_squares);
}

/* All workers compute the same from the same sums. */
static void update_part(struct descent *d, const struct pending *p, size_t i)
{
    struct locus_part part = p->round.parts[i];
    float now = best_of(d, part.variable, part_figures(d, i), p->shift);
    double old = (double)d->now[part.variable];
    d->changes[i] = (double)now - old;
    d->now[part.variable] = now;
    d->now_count += (fabsf(now) > 0) - (fabs(old) > 0);
    if (part.worker != d->member->place) return;
    d->penalty += fabs((double)now) - fabs(old);
    d->nonzero += (fabsf(now) > 0) - (fabs(old) > 0);
}

/* Nothing changes before all products have been used: rows may change in common. */
static void update(struct descent *d, const struct pending *p)
{
    const struct round *r = &p->round;
    size_t values = 0;
    for (size_t i = 0; i < r->count; i++) update_part(d, p, i);
    write_own(d, r);
    for (size_t i = 0; i < r->count; i++) {
        uint64_t j = r->parts[i].variable;
        double change = d->changes[i];
        turns_note(&d->turns, j, change, is_large(d, change));
        if (fabs(change) <= 0) continue;
        lasso_loss_change(&d->loss, j, d->from[j], d->to[j], change);
        values += d->to[j] - d->from[j];
    }
    world_computed(WORLD_TRAINED, values);
}

static void read_objective(struct descent *d, const double *extra)
{
    d->progress.objective = extra[LOSS] + extra[LOSS_REST] + extra[PENALTY] + extra[PENALTY_REST];
    d->progress.nonzero = extra[NONZERO];
    d->progress.seconds = meter_now() - d->began_s;
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
                          .wants_objective = wants_objective};
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
    if (p->wants_objective) {
        const double *extra = extra_figures(d, &p->round);
        read_objective(d, extra);
        d->is_due = extra[IS_DUE] > 0;
    }
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
    IS_OVER,
    ROUNDS,
    UPDATES,
    NEXT,
    SHIFT,
    OWN_PENALTY,
    OWN_NONZERO,
    OBJECTIVE,
    IS_CONVERGED,
    TOLERANCE
};
_Static_assert((int)TOLERANCE < (int)CHECKPOINTS_FIGURES, "each figure has a place");

static struct progress progress_of(const struct descent *d, const double *own)
{
    return (struct progress){.epochs = d->passes,
                             .figures = {[IS_OVER] = d->is_over,
                                         [ROUNDS] = (double)d->progress.rounds,
                                         [UPDATES] = (double)d->progress.updates,
                                         [NEXT] = (double)d->next,
                                         [SHIFT] = d->loss.shift,
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
    d->is_over = f[IS_OVER] > 0;
    d->progress.rounds = (uint64_t)f[ROUNDS];
    d->progress.updates = (uint64_t)f[UPDATES];
    d->begun = d->progress.rounds;
    d->begun_updates = d->progress.updates;
    d->next = (uint64_t)f[NEXT];
    d->loss.shift = f[SHIFT];
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

/* The scheduler would not come to its meetings: it is closed. */
static void write_checkpoint(struct descent *d)
{
    double own[] = {d->penalty, d->nonzero};
    pool_sum(d->member, own, 2);
    const struct progress p = progress_of(d, own);
    descent_rows_write(d->member, &d->loss, &d->turns);
    checkpoints_write(d->checkpoints, d->member, &p);
}

/* The scheduler begins anew where it was, with what is active now. */
static void go_on(struct descent *d)
{
    rounds_clear(&d->rounds);
    pool_quiesce(d->member);
    rounds_open(&d->rounds, &d->turns, d->progress.updates);
}

/* ---- what is active ---- */

/* All columns, while no schedule is open; and the objective. */
static void look(struct descent *d)
{
    size_t count = d->lasso->columns.count, values = 0;
    double *extra = d->products + count * ROUNDS_FIGURES;
    for (uint64_t v = 0; v < count; v++)
        values += add_product(d, v, d->products + v * ROUNDS_FIGURES);
    world_computed(WORLD_TRAINED, values);
    add_objective(d, extra);
    pool_sum(d->member, d->products, count * ROUNDS_FIGURES + ROUNDS_EXTRA);
    read_objective(d, extra);
}

static double expected(const struct descent *d, uint64_t column)
{
    const double *figures = d->products + column * ROUNDS_FIGURES;
    return (double)best_of(d, column, figures, d->loss.shift) - (double)d->now[column];
}

/* A pass of few that are active asks for the objective too often. */
static uint64_t pass_of(const struct descent *d)
{
    enum { LEAST = 1024 };
    uint64_t count = d->lasso->columns.count, least = count < LEAST ? count : LEAST;
    return d->turns.active > least ? d->turns.active : least;
}

/* By the last look. A schedule needs one. */
static void choose(struct descent *d)
{
    const struct lasso *l = d->lasso;
    turns_disturb(&d->turns);
    for (uint64_t v = 0; v < l->columns.count; v++) {
        double change = expected(d, v);
        bool is_active = fabsf(d->now[v]) > 0 || fabs(change) > 0 || v == 0;
        turns_choose(&d->turns, v, is_active, change);
    }
    d->next = d->progress.updates + pass_of(d);
}

/* Would something change, active or not? By the last look. */
static bool has_missed(const struct descent *d)
{
    for (uint64_t v = 0; v < d->lasso->columns.count; v++)
        if (is_large(d, expected(d, v))) return true;
    return false;
}

/* Many of the active have become 0: looking at all costs less than updating those again and again.
 */
static bool is_crowded(const struct descent *d)
{
    enum { ZEROS = 2, LOOK = 8 };
    return d->turns.active > ZEROS * d->now_count &&
           d->turns.active > d->lasso->columns.count / LOOK;
}

/* ---- the loop ---- */

/* The objective of the round that ended last was asked for. */
static void end_pass(struct descent *d)
{
    if (is_first(d)) lasso_report_progress(d->lasso, &d->progress);
    d->passes++;
}

static void begin_some(struct descent *d)
{
    while (d->begun <= d->progress.rounds + d->lasso->options.staleness) {
        bool wants_objective = d->begun_updates >= d->next;
        if (wants_objective) d->next += pass_of(d);
        begin_round(d, wants_objective);
    }
}

/* A checkpoint has no rounds under way. */
static void end_one(struct descent *d)
{
    if (!end_round(d)) return;
    end_pass(d);
    bool crowded = is_crowded(d);
    if (!d->is_due && !crowded) return;
    while (d->progress.rounds < d->begun)
        if (end_round(d)) end_pass(d);
    rounds_close(&d->rounds);
    if (crowded) {
        look(d);
        choose(d);
    }
    counters_end(&d->counters, d->member);
    if (d->is_due) write_checkpoint(d);
    counters_begin(&d->counters, d->member);
    go_on(d);
}

/* Of updates. */
static uint64_t limit_of(const struct descent *d)
{
    return d->lasso->options.common.epochs * d->lasso->columns.count;
}

/* The objective is asked for once a pass: it costs as much as some updates. */
static bool descend_active(struct descent *d)
{
    while (d->turns.at_rest < d->turns.active && d->progress.updates < limit_of(d)) {
        begin_some(d);
        end_one(d);
    }
    bool is_at_rest = d->turns.at_rest >= d->turns.active;
    while (d->progress.rounds < d->begun) end_round(d);
    rounds_close(&d->rounds);
    look(d);
    return is_at_rest;
}

static void descend(struct descent *d)
{
    counters_begin(&d->counters, d->member);
    if (!d->goes_on) {
        look(d);
        choose(d);
    }
    go_on(d);
    bool is_at_rest = descend_active(d);
    while (is_at_rest && has_missed(d)) {
        choose(d);
        go_on(d);
        is_at_rest = descend_active(d);
    }
    d->progress.is_converged = is_at_rest;
    d->is_over = true;
    d->passes++;
    counters_end(&d->counters, d->member);
    if (is_first(d)) lasso_report_end(d->lasso, &d->progress);
    if (d->checkpoints->folder) write_checkpoint(d);
}

/* A run that was over before goes on with more passes, unless it has converged: otherwise there is
 * its result. */
static void go_on_behind_end(struct descent *d)
{
    d->is_over = d->progress.is_converged || d->progress.updates >= limit_of(d);
    if (d->is_over && is_first(d)) lasso_report_end(d->lasso, &d->progress);
}

static void begin(struct descent *d)
{
    struct progress p;
    d->goes_on = checkpoints_resume(d->checkpoints, d->member, &p);
    if (d->goes_on) {
        descent_rows_read(d->member, &d->loss, &d->turns);
        take_progress(d, &p);
        rows_visit(d->member, LASSO_COEFFICIENTS, 0, d->lasso->columns.count, take_coefficient, d);
    } else if (d->lasso->start) {
        start(d);
    }
    pool_quiesce(d->member);
    checkpoints_begin(d->checkpoints, d->member, &p);
    d->began_s = meter_now() - p.seconds;
    pool_meet_here(d->member);
    if (d->is_over) go_on_behind_end(d);
}

void descent_work(struct pool_member *m, void *training)
{
    struct training *t = training;
    struct descent_here *here = t->program;
    const struct lasso *l = &here->lasso;
    struct descent d;
    double waits[2] = {0};
    open_descent(&d, l, m, &here->rounds);
    d.checkpoints = &t->checkpoints;
    begin(&d);
    if (!d.is_over) descend(&d);
    rounds_waits(&d.rounds, &waits[0], &waits[1]);
    const struct counters counters = counters_take(&d.counters, m);
    close_descent(&d);
    pool_sum(m, waits, 2);
    if (m->place == 0 && m->worker) {
        bool json = l->options.common.json;
        lasso_report_waits(l, waits[0] / m->total, waits[1] / m->total);
        counters_show(&counters, m->pool->size, json);
    }
    if (m->place == 0) lasso_use_model(l, m);
}
