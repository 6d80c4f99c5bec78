#include "rounds.h"

#include "fail.h"
#include "rng.h"
#include "rows.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

static void open_choice(struct rounds *r)
{
    struct rounds_here *here = r->here;
    here->is_open = true;
    choice_open(&here->choice, r->lasso);
    if (r->member->worker) return;
    here->parts = take_memory(r->lasso->width, sizeof *here->parts);
    here->figures_max = r->lasso->width * ROUNDS_FIGURES + ROUNDS_EXTRA;
    here->partial = take_memory(here->figures_max * r->member->total, sizeof *here->partial);
}

static void open_scheduler(struct rounds *r, const struct locus_scheduler_config *config)
{
    struct rounds_here *here = r->here;
    struct locus_scheduler_config c = *config;
    if (!here->is_open) open_choice(r);
    choice_begin(&here->choice, &c.schedule);
    if (r->member->worker)
        must(locus_scheduler_open(r->member->pool->node, &c, 0, &here->scheduler),
             "opening a scheduler");
    else
        must(locus_schedule_new(&c.schedule, &here->schedule), "making a schedule");
}

void rounds_init(struct rounds *r, const struct lasso *l, struct pool_member *m,
                 struct rounds_here *here)
{
    size_t floats = l->width * ROUNDS_FIGURES + ROUNDS_EXTRA;
    *r = (struct rounds){.lasso = l, .member = m, .here = here};
    r->floats = take_memory(floats, sizeof *r->floats);
}

/* Whose turn it is: with priorities every second update is one. */
static uint64_t turn_of(const struct lasso *l, uint64_t updates)
{
    return (l->options.order == LASSO_PRIORITY ? updates / 2 : updates) % l->columns.count;
}

/* The schedule goes on where the one before was. */
static struct locus_scheduler_config config_of(const struct rounds *r, const struct turns *t,
                                               uint64_t updates)
{
    struct locus_scheduler_config c = r->lasso->schedule;
    c.schedule.turn = turn_of(r->lasso, updates);
    c.schedule.changes = t->change;
    if (updates > 0) c.schedule.seed += rng_mix(updates);
    return c;
}

void rounds_open(struct rounds *r, const struct turns *t, uint64_t updates)
{
    struct pool_member *m = r->member;
    const struct locus_scheduler_config c = config_of(r, t, updates);
    if (m->place == 0) open_scheduler(r, &c);
    if (m->worker)
        must(locus_port_open(m->pool->node, m->worker, &c, m->place, &r->port), "opening a port");
    pool_meet_here(m);
}

void rounds_clear(struct rounds *r)
{
    for (size_t i = 0; i < LOCUS_SCHEDULER_TABLES; i++)
        rows_init(r->member, LASSO_MAILBOXES + i, NULL, NULL);
}

static void add_waits(struct rounds *r)
{
    struct locus_port_stats s = {0};
    if (r->port) locus_port_stats(r->port, &s);
    r->waits.seconds += s.seconds;
    r->waits.schedule_wait_s += s.schedule_wait_s;
    r->waits.pull_wait_s += s.pull_wait_s;
}

void rounds_close(struct rounds *r)
{
    struct rounds_here *here = r->here;
    add_waits(r);
    must(locus_port_close(r->port), "closing a port");
    r->port = NULL;
    pool_meet_here(r->member);
    if (r->member->place == 0) {
        must(locus_scheduler_close(here->scheduler), "scheduling");
        here->scheduler = NULL;
        locus_schedule_free(here->schedule);
        here->schedule = NULL;
    }
    r->rounds = 0;
    pool_meet_here(r->member);
}

void rounds_fini(struct rounds *r)
{
    struct rounds_here *here = r->here;
    free(r->floats);
    r->floats = NULL;
    if (r->member->index > 0) return;
    choice_close(&here->choice);
    free(here->parts);
    free(here->partial);
    *here = (struct rounds_here){0};
}

/* ---- a round ---- */

struct round rounds_schedule(struct rounds *r)
{
    struct rounds_here *here = r->here;
    struct round round;
    r->rounds++;
    if (r->port) {
        must(locus_port_schedule(r->port, &round.parts, &round.count), "taking a round");
        return round;
    }
    pool_meet_here(r->member); /* nobody reads the parts of the round before any more */
    if (r->member->index == 0) {
        if (r->rounds > 1) locus_schedule_done(here->schedule);
        int count = must(locus_schedule_next(here->schedule, here->parts), "scheduling");
        here->part_count = (size_t)count;
    }
    pool_meet_here(r->member);
    return (struct round){here->parts, here->part_count};
}

static size_t figures_of(const struct round *round)
{
    return round->count * ROUNDS_FIGURES + ROUNDS_EXTRA;
}

void rounds_push(struct rounds *r, const struct round *round, const double *figures)
{
    const struct rounds_here *here = r->here;
    size_t n = figures_of(round);
    if (!r->port) {
        memcpy(here->partial + r->member->place * here->figures_max, figures, n * sizeof *figures);
        return;
    }
    for (size_t i = 0; i < n; i++) r->floats[i] = (float)figures[i];
    must(locus_port_push(r->port, r->floats), "adding partial sums");
}

static void sum_here(struct rounds *r, double *figures, size_t n)
{
    const struct rounds_here *here = r->here;
    pool_meet_here(r->member);
    memset(figures, 0, n * sizeof *figures);
    for (unsigned w = 0; w < r->member->total; w++)
        for (size_t i = 0; i < n; i++) figures[i] += here->partial[w * here->figures_max + i];
    pool_meet_here(r->member);
}

void rounds_sum(struct rounds *r, const struct round *round, double *figures)
{
    size_t n = figures_of(round);
    if (!r->port) {
        sum_here(r, figures, n);
        return;
    }
    must(locus_port_pull(r->port, r->floats), "summing up");
    for (size_t i = 0; i < n; i++) figures[i] = (double)r->floats[i];
}

void rounds_changed(struct rounds *r, const struct round *round, const double *changes)
{
    locus_schedule *schedule = r->here->schedule;
    if (r->port) {
        for (size_t i = 0; i < round->count; i++) r->floats[i] = turns_told(changes[i]);
        must(locus_port_sync(r->port, r->floats), "ending a round");
    } else if (r->member->index == 0) {
        for (size_t i = 0; i < round->count; i++)
            locus_schedule_changed(schedule, round->parts[i].variable,
                                   (double)turns_told(changes[i]));
    }
}

void rounds_waits(const struct rounds *r, double *schedule, double *others)
{
    const struct locus_port_stats *s = &r->waits;
    *schedule = s->seconds > 0 ? s->schedule_wait_s / s->seconds : 0;
    *others = s->seconds > 0 ? s->pull_wait_s / s->seconds : 0;
}
