#include "schedule.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { VARIABLES_MAX = 60, WIDTH_MAX = 8, CALLS = 1500, AHEAD = LOCUS_SCHEDULE_AHEAD_MAX };

static struct {
    struct dice dice;
    struct locus_schedule_config config;
    locus_schedule *schedule;
    struct locus_part parts[AHEAD][WIDTH_MAX]; /* of rounds given and not done */
    int counts[AHEAD];
    uint64_t given, done;
    bool is_serial;               /* each round is done before the next */
    uint64_t last[VARIABLES_MAX]; /* the last round that had it */
    bool is_lopsided;             /* one variable is all that changes */
    uint64_t candidate;           /* of the program's own order */
    uint64_t drawn[VARIABLES_MAX];
    float changes[VARIABLES_MAX]; /* of a schedule that goes on; below 0: it is left out */
} world;

/* ---- filters ---- */

/* Neighbours depend on each other; or all do. */
static bool depend(uint64_t a, uint64_t b)
{
    return world.config.context || a + 1 == b || b + 1 == a;
}

static bool fits(void *context, uint64_t variable, const uint64_t *chosen, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        if (depend(variable, chosen[i])) return false;
    return true;
}

static uint64_t next_candidate(void *context)
{
    const struct locus_schedule_config *c = &world.config;
    uint64_t own = c->variables / c->shares + (c->share < c->variables % c->shares);
    (void)context;
    return world.candidate++ % own * c->shares + c->share;
}

static void configure(void)
{
    struct dice *d = &world.dice;
    struct locus_schedule_config *c = &world.config;
    static int all;
    locus_schedule_config_init(c);
    c->order = (enum locus_order)dice_below(d, 4);
    c->variables = 1 + dice_below(d, VARIABLES_MAX);
    c->workers = 1 + dice_below(d, c->order == LOCUS_ROTATION && c->variables < WIDTH_MAX
                                       ? (unsigned)c->variables
                                       : WIDTH_MAX);
    c->width = 1 + dice_below(d, WIDTH_MAX);
    c->seed = dice_throw(d);
    c->next = next_candidate;
    world.is_serial = dice_below(d, 3) == 0;
    if (c->order == LOCUS_ROTATION) return;
    world.is_lopsided = dice_below(d, 2);
    if (world.is_lopsided && world.is_serial) c->width = 1;
    c->window = 1 + dice_below(d, 4);
    c->shares = 1 + dice_below(d, c->variables < 3 ? (unsigned)c->variables : 3);
    c->share = dice_below(d, c->shares);
    unsigned filter = dice_below(d, 4);
    if (filter > 0) c->fits = fits;
    if (filter == 3) c->context = &all;
}

/* One in five goes on where another one was, without some of the share. */
static void go_on(uint64_t seed)
{
    struct dice d = {.state = seed};
    struct locus_schedule_config *c = &world.config;
    if (seed % 5 > 0 || c->order == LOCUS_ROTATION) return;
    for (uint64_t v = 0; v < c->variables; v++) world.changes[v] = dice_below(&d, 2) ? 1 : -1;
    world.changes[c->share] = 0;
    c->changes = world.changes;
    c->turn = dice_below(&d, VARIABLES_MAX);
}

/* ---- what must hold ---- */

static void check_part(struct locus_part p)
{
    const struct locus_schedule_config *c = &world.config;
    MUST(p.variable < c->variables && p.variable % c->shares == c->share,
         "round %d has variable %d, which is none of this share", (int)world.given,
         (int)p.variable);
    MUST(world.changes[p.variable] >= 0, "variable %d is left out, and comes", (int)p.variable);
    MUST(p.worker < c->workers, "variable %d is at worker %u of %u", (int)p.variable, p.worker,
         c->workers);
    if (c->order != LOCUS_ROTATION)
        MUST(p.worker == p.variable % c->workers, "variable %d is at another worker, %u",
             (int)p.variable, p.worker);
}

/* Within a round, and with all others that may be under way. */
static void check_pair(struct locus_part a, struct locus_part b, uint64_t back)
{
    const struct locus_schedule_config *c = &world.config;
    if (c->order == LOCUS_ROTATION && back > 0) return;
    MUST(a.variable != b.variable, "variable %d is in round %d and in the one %d before",
         (int)a.variable, (int)world.given, (int)back);
    if (c->order == LOCUS_ROTATION)
        MUST(a.worker != b.worker, "worker %u has two blocks", a.worker);
    if (c->fits && back < c->window)
        MUST(!depend(a.variable, b.variable), "variables %d and %d depend, and are %d rounds apart",
             (int)a.variable, (int)b.variable, (int)back);
}

static void check_round(void)
{
    const struct locus_part *parts = world.parts[world.given % AHEAD];
    int count = world.counts[world.given % AHEAD];
    for (int i = 0; i < count; i++) {
        check_part(parts[i]);
        for (int j = 0; j < i; j++) check_pair(parts[i], parts[j], 0);
        for (uint64_t r = world.done; r < world.given; r++)
            for (int j = 0; j < world.counts[r % AHEAD]; j++)
                check_pair(parts[i], world.parts[r % AHEAD][j], world.given - r);
        world.last[parts[i].variable] = world.given;
    }
}

/* What the header promises, where each round is done before the next one. */
static void check_bound(void)
{
    const struct locus_schedule_config *c = &world.config;
    uint64_t bound = 2 * c->variables + 8 * (uint64_t)c->width;
    if (!world.is_serial || c->order == LOCUS_OWN_ORDER) return;
    if (c->order == LOCUS_PRIORITY) bound *= 2;
    if (c->order == LOCUS_ROUND_ROBIN && !c->fits) bound = c->variables / c->width + 1;
    if (c->order == LOCUS_ROTATION) bound = c->variables;
    for (uint64_t v = c->share; v < c->variables; v += c->shares)
        MUST(world.changes[v] < 0 || world.given - world.last[v] <= bound,
             "variable %d has not come for %d rounds", (int)v, (int)bound);
}

/* The refused come first: in a round robin, order is that of the first time, so with a filter that
 * lets one through all take turns. */
static void check_turn(void)
{
    const struct locus_schedule_config *c = &world.config;
    uint64_t own = c->variables / c->shares + (c->share < c->variables % c->shares);
    if (!world.is_serial || c->order != LOCUS_ROUND_ROBIN || !c->context || c->changes) return;
    uint64_t wanted = world.given % own * c->shares + c->share;
    MUST(world.parts[world.given % AHEAD][0].variable == wanted,
         "variable %d comes where it is the turn of %d",
         (int)world.parts[world.given % AHEAD][0].variable, (int)wanted);
}

/* ---- calls ---- */

static void change(uint64_t variable)
{
    double by = dice_below(&world.dice, 4) == 0 ? INFINITY : 1e-9;
    if (world.is_lopsided) by = variable == world.config.share ? 1e6 : 0;
    locus_schedule_changed(world.schedule, variable, by);
}

static void end_round(void)
{
    if (world.done == world.given) return;
    if (world.config.changes) change(world.given % world.config.variables); /* left out, or not */
    for (int i = 0; i < world.counts[world.done % AHEAD]; i++)
        change(world.parts[world.done % AHEAD][i].variable);
    locus_schedule_done(world.schedule);
    world.done++;
}

static void begin_round(void)
{
    struct locus_part *parts = world.parts[world.given % AHEAD], more[WIDTH_MAX];
    if (world.given - world.done == AHEAD) {
        MUST(locus_schedule_next(world.schedule, more) == -EBUSY, "a 65th round is given");
        return;
    }
    int count = locus_schedule_next(world.schedule, parts);
    MUST(count >= 0, "the next round is refused: %d", count);
    if (count == 0) {
        MUST(world.given > world.done, "nothing is under way, and there is no round");
        return;
    }
    world.counts[world.given % AHEAD] = count;
    check_round();
    check_turn();
    world.given++;
    check_bound();
}

/* ---- frequencies ---- */

/* One at a time, each done at once: every second one is drawn, independently. */
static void check_frequencies(uint64_t seed)
{
    enum { FEW = 12, DRAWS = 20000 };
    struct locus_schedule_config c;
    struct locus_part part;
    double sum = 0, statistic = 0, draws = 0;
    locus_schedule_config_init(&c);
    c.order = LOCUS_PRIORITY;
    c.variables = FEW;
    c.eta = 0.5;
    c.seed = seed;
    locus_schedule *s;
    MUST(locus_schedule_new(&c, &s) == 0, "no schedule");
    memset(world.drawn, 0, sizeof world.drawn);
    for (int i = 0; i < DRAWS; i++, locus_schedule_done(s)) {
        MUST(locus_schedule_next(s, &part) == 1, "no variable of %d", FEW);
        if (i < FEW) locus_schedule_changed(s, part.variable, -0.5 * (double)part.variable);
        if (i >= FEW && i % 2 > 0) world.drawn[part.variable]++, draws++;
    }
    locus_schedule_free(s);
    for (int v = 0; v < FEW; v++) sum += 0.25 * v * v + 0.5;
    for (int v = 0; v < FEW; v++) {
        double expected = draws * (0.25 * v * v + 0.5) / sum,
               difference = (double)world.drawn[v] - expected;
        statistic += difference * difference / expected;
    }
    /* seven deviations above the mean of chi-square with 11 degrees of freedom */
    MUST(statistic < FEW - 1 + 7 * sqrt(2.0 * (FEW - 1)), "chi-square %.1f of %d degrees",
         statistic, FEW - 1);
}

void rounds_run(uint64_t seed)
{
    memset(&world, 0, sizeof world);
    world.dice.state = seed;
    configure();
    go_on(seed);
    MUST(locus_schedule_new(&world.config, &world.schedule) == 0, "no schedule");
    unsigned haste = 1 + dice_below(&world.dice, 9);
    for (int i = 0; i < CALLS; i++) {
        if (world.is_serial || dice_below(&world.dice, 10) >= haste) end_round();
        if (world.is_serial || dice_below(&world.dice, 10) < haste) begin_round();
    }
    locus_schedule_free(world.schedule);
    if (seed % 16 == 1) check_frequencies(seed);
}
