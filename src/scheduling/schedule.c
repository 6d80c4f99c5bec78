#include "scheduling/schedule.h"

#include "base/closed.h"
#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Candidates for each place of a round, and refused ones that wait for each. */
enum { TRIES = 4, WAITING = 4 };

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

/* ---- checking ---- */

static int check_count(const char *call, const char *field, uint64_t value, uint64_t most)
{
    if (value >= 1 && value <= most) return 0;
    return error_set(-EINVAL, "%s: `%s` is %llu: must be 1 to %llu", call, field,
                     (unsigned long long)value, (unsigned long long)most);
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
    int rc = check_count(call, "variables", c->variables, LOCUS_SCHEDULE_VARIABLES_MAX);
    if (rc == 0) rc = check_count(call, "workers", c->workers, LOCUS_SCHEDULE_WORKERS_MAX);
    if (rc == 0 && c->order != LOCUS_ROTATION)
        rc = check_count(call, "width", c->width, LOCUS_SCHEDULE_WIDTH_MAX);
    if (rc == 0) rc = check_count(call, "window", c->window, LOCUS_SCHEDULE_AHEAD_MAX);
    if (rc == 0) rc = check_count(call, "shares", c->shares, c->variables);
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

/* ---- life ---- */

static int allocate(struct locus_schedule *s)
{
    const struct locus_schedule_config *c = &s->config;
    size_t width = schedule_width(c);
    s->waiting_max = (unsigned)(WAITING * width);
    s->rounds = calloc(width * LOCUS_SCHEDULE_AHEAD_MAX, sizeof *s->rounds);
    s->together = calloc(width * c->window, sizeof *s->together);
    s->waiting = calloc(s->waiting_max, sizeof *s->waiting);
    if (!s->rounds || !s->together || !s->waiting) return -ENOMEM;
    uint64_t count = c->variables / c->shares + (c->share < c->variables % c->shares);
    return candidates_init(&s->candidates, c, count);
}

static void release(struct locus_schedule *s)
{
    candidates_fini(&s->candidates);
    free(s->rounds);
    free(s->together);
    free(s->waiting);
}

int locus_schedule_new(const struct locus_schedule_config *config, locus_schedule **out)
{
    if (!config || !out) return error_set(-EINVAL, "locus_schedule_new: an argument is NULL");
    *out = NULL;
    int rc = schedule_check("locus_schedule_new", config);
    if (rc == 0) rc = check_changes(config);
    if (rc) return rc;
    struct locus_schedule *s = calloc(1, sizeof *s);
    if (s) s->config = *config;
    if (!s || allocate(s)) {
        if (s) release(s);
        free(s);
        return error_set(-ENOMEM, "locus_schedule_new: no memory for %llu variables",
                         (unsigned long long)config->variables);
    }
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

int schedule_check_handle(const char *call, const struct locus_schedule *s)
{
    if (s && !s->is_freed) return 0;
    return error_set(-EINVAL, "%s: the schedule %s", call, s ? "was freed" : "is NULL");
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
        uint64_t local;
        int rc = candidates_next(&s->candidates, &local);
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
    int rc = schedule_check_handle("locus_schedule_next", s);
    if (rc) return rc;
    if (!parts) return error_set(-EINVAL, "locus_schedule_next: `parts` is NULL");
    if (s->given - s->done == LOCUS_SCHEDULE_AHEAD_MAX)
        return error_set(-EBUSY,
                         "locus_schedule_next: %d rounds are given and not done: the most there "
                         "may be; call locus_schedule_done()",
                         LOCUS_SCHEDULE_AHEAD_MAX);
    struct making m = {.locals = round_at(s, s->given)};
    rc = fill(s, &m);
    if (rc < 0) { /* there is no such round */
        for (size_t i = 0; i < m.chosen; i++) candidates_free(&s->candidates, m.locals[i]);
        return rc;
    }
    if (m.chosen == 0) return 0;
    write_parts(s, &m, parts);
    s->counts[s->given++ % LOCUS_SCHEDULE_AHEAD_MAX] = (unsigned)m.chosen;
    return (int)m.chosen;
}

void locus_schedule_changed(locus_schedule *s, uint64_t variable, double change)
{
    if (schedule_check_handle("locus_schedule_changed", s)) return;
    const struct locus_schedule_config *c = &s->config;
    if (variable >= c->variables || variable % c->shares != c->share) return;
    candidates_changed(&s->candidates, variable / c->shares, change);
}

void locus_schedule_done(locus_schedule *s)
{
    if (schedule_check_handle("locus_schedule_done", s) || s->done == s->given) return;
    const uint64_t *locals = round_at(s, s->done);
    unsigned count = s->counts[s->done % LOCUS_SCHEDULE_AHEAD_MAX];
    if (s->config.order != LOCUS_ROTATION)
        for (unsigned i = 0; i < count; i++) candidates_free(&s->candidates, locals[i]);
    s->done++;
}
