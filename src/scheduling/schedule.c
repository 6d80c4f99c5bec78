#include "scheduling/schedule.h"

#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Candidates for each place of a round, and refused ones that wait for each. */
    TRIES = 4,
    WAITING = 4,
    /* With priorities, one in this many candidates comes in turn. A variable's last change does not
     * say by how much it would change now, after all others have changed: with far fewer turns the
     * objective improves more slowly. */
    TURN = 2,
    BITS = 64,
};

/* Squares of so many variables still have a finite sum. */
static const double CHANGE_MAX = 1e18;

/*
 *     candidate --fits--> in a round --round done--> free
 *         |                   ^
 *         +--refused--> waits-+   the next round tries it before any other, in order of refusal
 *
 * Inside, variables are counted within the share: 0 ... count - 1. One that is busy (in a round,
 * refused and waiting, or left out by the configuration) is no candidate.
 */
struct locus_schedule {
    struct locus_schedule_config config;
    uint64_t count;
    uint64_t *busy;         /* a bit a variable */
    uint64_t cursor;        /* whose turn it is */
    uint64_t unseen;        /* priority: variables that have not had their first turn */
    uint64_t candidates;    /* priority: so far */
    struct weights weights; /* priority: 0 while busy */
    float *change;          /* priority: the last one */
    uint64_t random;        /* splitmix64's state */
    /* Those refused, in order; at most `waiting_max`, and those of a round that failed. */
    uint64_t *waiting;
    unsigned waiting_count, waiting_max;
    /* Rounds given and not done: `width` places each. The oldest is number `done`, the next is
     * `given`. */
    uint64_t *rounds;
    unsigned counts[LOCUS_SCHEDULE_AHEAD_MAX];
    uint64_t done, given;
    uint64_t *together; /* of the window: what a candidate must fit to */
    bool is_freed;
};

void locus_schedule_config_init_sized(struct locus_schedule_config *c, size_t size)
{
    const struct locus_schedule_config defaults = {
        .variables = 1, .workers = 1, .width = 1, .window = 1, .shares = 1, .eta = 1e-6};
    if (!c) return;
    memcpy(c, &defaults, size < sizeof defaults ? size : sizeof defaults);
}

unsigned schedule_width(const struct locus_schedule_config *c)
{
    return c->order == LOCUS_ROTATION ? c->workers : c->width;
}

/* ---- weights ---- */

int weights_init(struct weights *w, uint64_t count)
{
    *w = (struct weights){.count = count, .sum = calloc(2 * count, sizeof *w->sum)};
    return w->sum ? 0 : -ENOMEM;
}

void weights_fini(struct weights *w)
{
    free(w->sum);
    *w = (struct weights){0};
}

void weights_set(struct weights *w, uint64_t index, double weight)
{
    uint64_t node = w->count + index;
    w->sum[node] = weight;
    for (node /= 2; node > 0; node /= 2) w->sum[node] = w->sum[2 * node] + w->sum[2 * node + 1];
}

/* Rounding may leave more than the right side holds; then the rest is on the left. */
uint64_t weights_draw(const struct weights *w, double uniform)
{
    double rest = uniform * weights_total(w);
    uint64_t node = 1;
    while (node < w->count) {
        node *= 2;
        if (rest < w->sum[node] || w->sum[node + 1] <= 0) continue;
        rest -= w->sum[node];
        node++;
    }
    return node - w->count;
}

/* ---- checking ---- */

int schedule_range(const char *call, const char *field, uint64_t value, uint64_t least,
                   uint64_t most)
{
    if (value >= least && value <= most) return 0;
    return error_set(-EINVAL, "%s: `%s` is %llu: must be %llu to %llu", call, field,
                     (unsigned long long)value, (unsigned long long)least,
                     (unsigned long long)most);
}

static int check_rotation(const char *call, const struct locus_schedule_config *c)
{
    if (c->variables < c->workers)
        return error_set(-EINVAL,
                         "%s: %llu blocks rotate among %u workers: there must be a block for each",
                         call, (unsigned long long)c->variables, c->workers);
    if (c->fits || c->changes || c->shares > 1)
        return error_set(-EINVAL, "%s: a rotation has no filter and no changes, and is not shared",
                         call);
    return 0;
}

static int check_order(const char *call, const struct locus_schedule_config *c)
{
    switch (c->order) {
    case LOCUS_ROUND_ROBIN: return 0;
    case LOCUS_ROTATION: return check_rotation(call, c);
    case LOCUS_PRIORITY:
        if (c->eta > 0 && c->eta <= 1e30) return 0;
        return error_set(-EINVAL, "%s: `eta` is %g: must be above 0, and at most 1e30", call,
                         c->eta);
    case LOCUS_OWN_ORDER:
        return c->next ? 0 : error_set(-EINVAL, "%s: `next` is NULL: who chooses?", call);
    default: return error_set(-EINVAL, "%s: `order` is %d: no such order", call, (int)c->order);
    }
}

int schedule_check(const char *call, const struct locus_schedule_config *c)
{
    unsigned width = schedule_width(c);
    int rc = schedule_range(call, "variables", c->variables, 1, LOCUS_SCHEDULE_VARIABLES_MAX);
    if (rc == 0) rc = schedule_range(call, "workers", c->workers, 1, LOCUS_SCHEDULE_WORKERS_MAX);
    if (rc == 0) rc = schedule_range(call, "width", width, 1, LOCUS_SCHEDULE_WIDTH_MAX);
    if (rc == 0) rc = schedule_range(call, "window", c->window, 1, LOCUS_SCHEDULE_AHEAD_MAX);
    if (rc == 0) rc = schedule_range(call, "shares", c->shares, 1, c->variables);
    if (rc == 0 && c->share >= c->shares)
        rc = error_set(-EINVAL, "%s: `share` is %u: must be below `shares`, %u", call, c->share,
                       c->shares);
    return rc ? rc : check_order(call, c);
}

/* Who waits for a round of a share without variables would wait for ever. */
static int check_changes(const struct locus_schedule_config *c)
{
    if (!c->changes) return 0;
    for (uint64_t v = c->share; v < c->variables; v += c->shares)
        if (!(c->changes[v] < 0)) return 0;
    return error_set(
        -EINVAL, "locus_schedule_new: `changes` leave out all variables of share %u: one must stay",
        c->share);
}

static int check_handle(const char *call, const struct locus_schedule *s)
{
    if (s && !s->is_freed) return 0;
    return error_set(-EINVAL, "%s: the schedule %s", call, s ? "was freed" : "is NULL");
}

/* ---- candidates: in turn, by priority, or as the program says ---- */

static bool is_busy(const struct locus_schedule *s, uint64_t local)
{
    return s->busy[local / BITS] >> local % BITS & 1;
}

static void set_busy(struct locus_schedule *s, uint64_t local)
{
    s->busy[local / BITS] |= UINT64_C(1) << local % BITS;
    if (s->change) weights_set(&s->weights, local, 0);
}

static void weigh(struct locus_schedule *s, uint64_t local)
{
    double change = (double)s->change[local];
    weights_set(&s->weights, local, change * change + s->config.eta);
}

static void set_free(struct locus_schedule *s, uint64_t local)
{
    s->busy[local / BITS] &= ~(UINT64_C(1) << local % BITS);
    if (s->change) weigh(s, local);
}

/* Before its first turn a variable has no weight. */
static void set_change(struct locus_schedule *s, uint64_t local, double change)
{
    if (!s->change) return;
    bool is_large = !(fabs(change) < CHANGE_MAX);
    s->change[local] = (float)(is_large ? CHANGE_MAX : fabs(change));
    if (weights_get(&s->weights, local) > 0) weigh(s, local);
}

/* splitmix64 (Steele, Lea and Flood, 2014). */
static double next_uniform(struct locus_schedule *s)
{
    uint64_t x = s->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* So many from this one on are busy, and passed over at once: most, where most are left out. */
static uint64_t passed_over(const struct locus_schedule *s, uint64_t local)
{
    bool is_all = local % BITS == 0 && local + BITS <= s->count &&
                  s->busy[local / BITS] == UINT64_MAX;
    return is_all ? BITS : is_busy(s, local);
}

/* At most once round. */
static bool next_in_turn(struct locus_schedule *s, uint64_t *local)
{
    for (uint64_t i = 0, count; i < s->count; i += count) {
        uint64_t v = s->cursor, busy = passed_over(s, v);
        count = busy > 1 ? busy : 1;
        s->cursor = v + count < s->count ? v + count : 0;
        s->unseen -= count < s->unseen ? count : s->unseen;
        if (busy) continue;
        *local = v;
        return true;
    }
    return false;
}

static bool next_by_priority(struct locus_schedule *s, uint64_t *local)
{
    bool is_turn = s->unseen || s->candidates % TURN == 0;
    if (is_turn || weights_total(&s->weights) <= 0) return next_in_turn(s, local);
    *local = weights_draw(&s->weights, next_uniform(s));
    return true;
}

/* Those that are busy are passed over, but not for ever: a function may know no other. */
static int next_own(struct locus_schedule *s, uint64_t *local)
{
    const struct locus_schedule_config *c = &s->config;
    for (uint64_t i = 0; i <= s->count; i++) {
        uint64_t v = c->next(c->context);
        if (v == UINT64_MAX) return 0;
        if (v >= c->variables || v % c->shares != c->share)
            return error_set(
                -EINVAL,
                "locus_schedule_next: candidate %llu is no variable: must be below %llu, and %u modulo %u",
                (unsigned long long)v, (unsigned long long)c->variables, c->share, c->shares);
        *local = v / c->shares;
        if (!is_busy(s, *local)) return 1;
    }
    return 0;
}

/* 1: the next candidate, which is busy from now on; 0: there is none; -EINVAL: the program's
 * function gave something that is not a variable. */
static int next_candidate(struct locus_schedule *s, uint64_t *local)
{
    int rc;
    switch (s->config.order) {
    case LOCUS_PRIORITY: rc = next_by_priority(s, local); break;
    case LOCUS_OWN_ORDER: rc = next_own(s, local); break;
    default: rc = next_in_turn(s, local);
    }
    if (rc <= 0) return rc;
    s->candidates++;
    set_busy(s, *local);
    return rc;
}

/* ---- life ---- */

static bool allocate(struct locus_schedule *s)
{
    const struct locus_schedule_config *c = &s->config;
    size_t width = schedule_width(c);
    s->waiting_max = (unsigned)(WAITING * width);
    s->rounds = calloc(width * LOCUS_SCHEDULE_AHEAD_MAX, sizeof *s->rounds);
    s->together = calloc(width * c->window, sizeof *s->together);
    s->waiting = calloc(s->waiting_max + width, sizeof *s->waiting);
    s->busy = calloc(s->count / BITS + 1, sizeof *s->busy);
    if (!s->rounds || !s->together || !s->waiting || !s->busy) return false;
    if (c->order != LOCUS_PRIORITY) return true;
    s->change = calloc(s->count, sizeof *s->change);
    return s->change && weights_init(&s->weights, s->count) == 0;
}

static void release(struct locus_schedule *s)
{
    free(s->rounds);
    free(s->together);
    free(s->waiting);
    free(s->busy);
    free(s->change);
    weights_fini(&s->weights);
}

/* As the configuration says that it had been. */
static void go_on(struct locus_schedule *s)
{
    const struct locus_schedule_config *c = &s->config;
    uint64_t turn = c->turn % c->variables;
    s->cursor = turn > c->share ? (turn - c->share + c->shares - 1) / c->shares % s->count : 0;
    s->unseen = c->order == LOCUS_PRIORITY && !c->changes ? s->count : 0;
    for (uint64_t v = 0; c->changes && v < s->count; v++) {
        double change = (double)c->changes[v * c->shares + c->share];
        set_change(s, v, change);
        if (change < 0)
            set_busy(s, v);
        else
            set_free(s, v);
    }
}

int locus_schedule_new(const struct locus_schedule_config *config, locus_schedule **out)
{
    if (!config || !out) return error_set(-EINVAL, "locus_schedule_new: an argument is NULL");
    *out = NULL;
    int rc = schedule_check("locus_schedule_new", config);
    if (rc == 0) rc = check_changes(config);
    if (rc) return rc;
    struct locus_schedule *s = calloc(1, sizeof *s);
    if (s)
        *s = (struct locus_schedule){
            .config = *config,
            .count = (config->variables - config->share - 1) / config->shares + 1,
            .random = config->seed};
    if (!s || !allocate(s)) {
        if (s) release(s);
        free(s);
        return error_set(-ENOMEM, "locus_schedule_new: no memory for %llu variables",
                         (unsigned long long)config->variables);
    }
    go_on(s);
    *out = s;
    return 0;
}

void locus_schedule_free(locus_schedule *s)
{
    if (!s || s->is_freed) return;
    release(s);
    s->is_freed = true;
    closed_keep(s, NULL, sizeof *s);
}

/* ---- a round ---- */

static uint64_t *round_at(const struct locus_schedule *s, uint64_t number)
{
    return s->rounds + number % LOCUS_SCHEDULE_AHEAD_MAX * schedule_width(&s->config);
}

static uint64_t variable_of(const struct locus_schedule *s, uint64_t local)
{
    return local * s->config.shares + s->config.share;
}

/* A round that is being made. */
struct making {
    uint64_t *locals; /* its variables, within the share */
    size_t chosen;
    size_t before; /* variables of earlier rounds of the window, in `together` */
};

/* What workers may be updating when the new round begins. */
static size_t collect_window(struct locus_schedule *s)
{
    uint64_t first = s->given + 1 > s->config.window ? s->given + 1 - s->config.window : 0;
    size_t count = 0;
    for (uint64_t r = first > s->done ? first : s->done; r < s->given; r++)
        for (unsigned i = 0; i < s->counts[r % LOCUS_SCHEDULE_AHEAD_MAX]; i++)
            s->together[count++] = variable_of(s, round_at(s, r)[i]);
    return count;
}

static bool try(struct locus_schedule *s, struct making *m, uint64_t local)
{
    const struct locus_schedule_config *c = &s->config;
    uint64_t variable = variable_of(s, local);
    size_t count = m->before + m->chosen;
    if (c->fits && count > 0 && !c->fits(c->context, variable, s->together, count)) return false;
    s->together[count] = variable;
    m->locals[m->chosen++] = local;
    return true;
}

/* The refused of earlier rounds; those refused again stay, in their order. */
static void try_waiting(struct locus_schedule *s, struct making *m)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < s->waiting_count; i++) {
        uint64_t local = s->waiting[i];
        if (m->chosen == s->config.width || !try(s, m, local)) s->waiting[kept++] = local;
    }
    s->waiting_count = kept;
}

static int try_candidates(struct locus_schedule *s, struct making *m)
{
    size_t tries = (size_t)TRIES * s->config.width;
    for (; tries > 0 && m->chosen < s->config.width && s->waiting_count < s->waiting_max; tries--) {
        uint64_t local = 0;
        int rc = next_candidate(s, &local);
        if (rc <= 0) return rc;
        if (!try(s, m, local)) s->waiting[s->waiting_count++] = local;
    }
    return 0;
}

/* The `first` block of a worker is as far from its neighbours' as possible; each round takes the
 * next one. */
static size_t rotate(const struct locus_schedule *s, uint64_t *locals)
{
    const struct locus_schedule_config *c = &s->config;
    uint64_t turn = c->turn % c->variables + s->given;
    for (unsigned w = 0; w < c->workers; w++)
        locals[w] = (w * c->variables / c->workers + turn) % c->variables;
    return c->workers;
}

static int fill(struct locus_schedule *s, struct making *m)
{
    if (s->config.order == LOCUS_ROTATION) {
        m->chosen = rotate(s, m->locals);
        return 0;
    }
    m->before = collect_window(s);
    try_waiting(s, m);
    return try_candidates(s, m);
}

/* There is no such round: whom it has comes first in the next one. */
static int wait_again(struct locus_schedule *s, const struct making *m, int rc)
{
    memmove(s->waiting + m->chosen, s->waiting, s->waiting_count * sizeof *s->waiting);
    memcpy(s->waiting, m->locals, m->chosen * sizeof *s->waiting);
    s->waiting_count += (unsigned)m->chosen;
    return rc;
}

static void write_parts(const struct locus_schedule *s, const struct making *m,
                        struct locus_part *parts)
{
    const struct locus_schedule_config *c = &s->config;
    for (size_t i = 0; i < m->chosen; i++) {
        uint64_t variable = variable_of(s, m->locals[i]);
        uint32_t worker = c->order == LOCUS_ROTATION ? (uint32_t)i
                                                     : (uint32_t)(variable % c->workers);
        parts[i] = (struct locus_part){.variable = variable, .worker = worker};
    }
}

int locus_schedule_next(locus_schedule *s, struct locus_part *parts)
{
    int rc = check_handle("locus_schedule_next", s);
    if (rc) return rc;
    if (!parts) return error_set(-EINVAL, "locus_schedule_next: `parts` is NULL");
    if (s->given - s->done == LOCUS_SCHEDULE_AHEAD_MAX)
        return error_set(-EBUSY,
                         "locus_schedule_next: %d rounds are given and not done: the most there "
                         "may be; call locus_schedule_done()",
                         LOCUS_SCHEDULE_AHEAD_MAX);
    struct making m = {.locals = round_at(s, s->given)};
    rc = fill(s, &m);
    if (rc < 0) return wait_again(s, &m, rc);
    if (m.chosen == 0) return 0;
    write_parts(s, &m, parts);
    s->counts[s->given++ % LOCUS_SCHEDULE_AHEAD_MAX] = (unsigned)m.chosen;
    return (int)m.chosen;
}

void locus_schedule_changed(locus_schedule *s, uint64_t variable, double change)
{
    if (check_handle("locus_schedule_changed", s)) return;
    const struct locus_schedule_config *c = &s->config;
    if (variable >= c->variables || variable % c->shares != c->share) return;
    set_change(s, variable / c->shares, change);
}

void locus_schedule_done(locus_schedule *s)
{
    if (check_handle("locus_schedule_done", s) || s->done == s->given) return;
    const uint64_t *locals = round_at(s, s->done);
    unsigned count = s->counts[s->done % LOCUS_SCHEDULE_AHEAD_MAX];
    if (s->config.order != LOCUS_ROTATION)
        for (unsigned i = 0; i < count; i++) set_free(s, locals[i]);
    s->done++;
}
