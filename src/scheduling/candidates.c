#include "scheduling/candidates.h"

#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Squares of so many variables still have a finite sum. */
static const double CHANGE_MAX = 1e18;

enum { BITS = 64 };

static void set_busy(struct candidates *c, uint64_t variable)
{
    c->busy[variable / BITS] |= UINT64_C(1) << variable % BITS;
}

/* As the configuration says that it had been. */
static void go_on(struct candidates *c)
{
    const struct locus_schedule_config *o = c->config;
    uint64_t turn = o->turn % o->variables;
    c->cursor = turn > o->share ? (turn - o->share + o->shares - 1) / o->shares % c->count : 0;
    if (!o->changes) return;
    c->unseen = 0;
    for (uint64_t v = 0; v < c->count; v++) {
        double change = (double)o->changes[v * o->shares + o->share];
        candidates_changed(c, v, change);
        if (change < 0)
            set_busy(c, v);
        else
            candidates_free(c, v);
    }
}

int candidates_init(struct candidates *c, const struct locus_schedule_config *config,
                    uint64_t count)
{
    *c = (struct candidates){.config = config, .count = count, .random = config->seed};
    c->busy = calloc(count / BITS + 1, sizeof *c->busy);
    int rc = c->busy ? 0 : -ENOMEM;
    if (rc == 0 && config->order == LOCUS_PRIORITY) {
        c->unseen = count;
        c->change = calloc(count, sizeof *c->change);
        rc = c->change ? weights_init(&c->weights, count) : -ENOMEM;
    }
    if (rc == 0)
        go_on(c);
    else
        candidates_fini(c);
    return rc;
}

void candidates_fini(struct candidates *c)
{
    weights_fini(&c->weights);
    free(c->change);
    free(c->busy);
    *c = (struct candidates){0};
}

static bool is_busy(const struct candidates *c, uint64_t variable)
{
    return c->busy[variable / BITS] >> variable % BITS & 1;
}

/* splitmix64 (Steele, Lea and Flood, 2014). */
static double next_uniform(struct candidates *c)
{
    uint64_t x = c->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* So many from this one on are busy, and passed over at once: most, where most are left out. */
static uint64_t passed_over(const struct candidates *c, uint64_t variable)
{
    bool is_all = variable % BITS == 0 && variable + BITS <= c->count &&
                  c->busy[variable / BITS] == UINT64_MAX;
    return is_all ? BITS : is_busy(c, variable);
}

/* At most once round. */
static bool next_in_turn(struct candidates *c, uint64_t *variable)
{
    for (uint64_t i = 0, step; i < c->count; i += step) {
        uint64_t v = c->cursor, busy = passed_over(c, v);
        step = busy > 1 ? busy : 1;
        c->cursor = v + step < c->count ? v + step : 0;
        c->unseen -= step < c->unseen ? step : c->unseen;
        if (busy) continue;
        *variable = v;
        return true;
    }
    return false;
}

static bool next_by_priority(struct candidates *c, uint64_t *variable)
{
    bool is_turn = c->unseen || c->given % CANDIDATES_TURN == 0;
    if (is_turn || weights_total(&c->weights) <= 0) return next_in_turn(c, variable);
    *variable = weights_draw(&c->weights, next_uniform(c));
    return true;
}

/* Those that are busy are passed over, but not for ever: a function may know no other. */
static int next_own(struct candidates *c, uint64_t *variable)
{
    const struct locus_schedule_config *o = c->config;
    for (uint64_t i = 0; i <= c->count; i++) {
        uint64_t v = o->next(o->context);
        if (v == UINT64_MAX) return 0;
        if (v >= o->variables || v % o->shares != o->share)
            return error_set(
                -EINVAL,
                "locus_schedule_next: candidate %llu is no variable: must be below %llu, and %u modulo %u",
                (unsigned long long)v, (unsigned long long)o->variables, o->share, o->shares);
        *variable = v / o->shares;
        if (!is_busy(c, *variable)) return 1;
    }
    return 0;
}

static int choose(struct candidates *c, uint64_t *variable)
{
    switch (c->config->order) {
    case LOCUS_PRIORITY: return next_by_priority(c, variable);
    case LOCUS_OWN_ORDER: return next_own(c, variable);
    default: return next_in_turn(c, variable);
    }
}

int candidates_next(struct candidates *c, uint64_t *variable)
{
    int rc = choose(c, variable);
    if (rc <= 0) return rc;
    c->given++;
    set_busy(c, *variable);
    if (c->change) weights_set(&c->weights, *variable, 0);
    return rc;
}

static void weigh(struct candidates *c, uint64_t variable)
{
    double change = (double)c->change[variable];
    weights_set(&c->weights, variable, change * change + c->config->eta);
}

void candidates_free(struct candidates *c, uint64_t variable)
{
    c->busy[variable / BITS] &= ~(UINT64_C(1) << variable % BITS);
    if (c->change) weigh(c, variable);
}

/* Before its first turn a variable has no weight. */
void candidates_changed(struct candidates *c, uint64_t variable, double change)
{
    if (!c->change) return;
    bool is_large = !(fabs(change) < CHANGE_MAX);
    c->change[variable] = (float)(is_large ? CHANGE_MAX : fabs(change));
    if (weights_get(&c->weights, variable) > 0) weigh(c, variable);
}
