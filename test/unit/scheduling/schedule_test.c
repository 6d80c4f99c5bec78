/* Schedules: which variables a round has, which it never has together, and when each comes
 * again. */
#include "sampling/chi_square.h"
#include "test.h"
#include "locus_schedule.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VARIABLES = 101, WIDTH = 8, WORKERS = 3 };

static struct locus_schedule_config config_of(enum locus_order order)
{
    struct locus_schedule_config c;
    locus_schedule_config_init(&c);
    c.order = order;
    c.variables = VARIABLES;
    c.workers = WORKERS;
    c.width = WIDTH;
    return c;
}

static locus_schedule *new_schedule(const struct locus_schedule_config *c)
{
    locus_schedule *s;
    int rc = locus_schedule_new(c, &s);
    if (rc) test_fail(__FILE__, __LINE__, "%d: %s", rc, locus_error());
    return s;
}

/* ---- what holds for all ---- */

static void check_round(const struct locus_schedule_config *c, const struct locus_part *parts,
                        int count)
{
    for (int i = 0; i < count; i++) {
        CHECK(parts[i].variable < c->variables);
        CHECK_EQ(parts[i].variable % c->shares, c->share);
        CHECK(parts[i].worker < c->workers);
        for (int j = 0; j < i; j++) CHECK(parts[i].variable != parts[j].variable);
    }
}

/* Neighbours depend on each other. */
static bool are_apart(uint64_t a, uint64_t b)
{
    return a > b + 2 || b > a + 2;
}

static bool fits_apart(void *context, uint64_t variable, const uint64_t *chosen, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        if (!are_apart(variable, chosen[i])) return false;
    return true;
}

static bool fits_nothing(void *context, uint64_t variable, const uint64_t *chosen, size_t count)
{
    (void)context;
    (void)variable;
    (void)chosen;
    return count == 0;
}

/* ---- round robin ---- */

TEST(schedule, round_robin_takes_all_in_turn)
{
    struct locus_schedule_config c = config_of(LOCUS_ROUND_ROBIN);
    locus_schedule *s = new_schedule(&c);
    struct locus_part parts[WIDTH];
    for (uint64_t at = 0; at < 3 * VARIABLES * WIDTH; locus_schedule_done(s)) {
        CHECK_EQ(locus_schedule_next(s, parts), WIDTH);
        for (int i = 0; i < WIDTH; i++, at++) {
            CHECK_EQ(parts[i].variable, at % VARIABLES);
            CHECK_EQ(parts[i].worker, parts[i].variable % WORKERS);
        }
    }
    locus_schedule_free(s);
}

/* ---- the filter ---- */

enum { AHEAD = 4, ROUNDS = 6000 };

struct flight {
    struct locus_part parts[AHEAD][WIDTH];
    int counts[AHEAD];
};

/* Rounds `ahead` of what is done; within each window all fit, and nothing is in two rounds. */
static void check_flight(const struct locus_schedule_config *c, const struct flight *f, int round,
                         int ahead)
{
    const struct locus_part *now = f->parts[round % AHEAD];
    for (int back = 0; back < ahead && back <= round; back++) {
        const struct locus_part *other = f->parts[(round - back) % AHEAD];
        for (int i = 0; i < f->counts[round % AHEAD]; i++)
            for (int j = 0; j < f->counts[(round - back) % AHEAD]; j++) {
                if (back == 0 && i == j) continue;
                CHECK(now[i].variable != other[j].variable);
                if (c->fits && back < (int)c->window)
                    CHECK(are_apart(now[i].variable, other[j].variable));
            }
    }
}

/* Returns the longest that a variable waited, in rounds, once each had been there. */
static int fly(const struct locus_schedule_config *c, int ahead)
{
    locus_schedule *s = new_schedule(c);
    static struct flight f;
    static int last[VARIABLES];
    int longest = 0, undone = 0;
    memset(last, 0, sizeof last);
    for (int round = 0; round < ROUNDS; round++) {
        struct locus_part *parts = f.parts[round % AHEAD];
        while (undone >= ahead) undone--, locus_schedule_done(s);
        int count = locus_schedule_next(s, parts);
        for (; count == 0 && undone > 0; count = locus_schedule_next(s, parts))
            undone--, locus_schedule_done(s);
        CHECK(count > 0);
        undone++;
        check_round(c, parts, count);
        f.counts[round % AHEAD] = count;
        check_flight(c, &f, round, undone);
        for (int i = 0; i < count; i++) {
            uint64_t v = parts[i].variable;
            if (round - last[v] > longest) longest = round - last[v];
            last[v] = round;
            locus_schedule_changed(s, v, v == 7 ? 1e6 : 1e-3);
        }
    }
    for (int v = 0; v < VARIABLES; v++)
        if (ROUNDS - last[v] > longest) longest = ROUNDS - last[v];
    locus_schedule_free(s);
    return longest;
}

TEST(schedule, what_is_updated_together_fits)
{
    for (int order = 0; order < 2; order++)
        for (unsigned window = 1; window <= 3; window++) {
            struct locus_schedule_config c = config_of(order ? LOCUS_PRIORITY : LOCUS_ROUND_ROBIN);
            c.fits = fits_apart;
            c.window = window;
            fly(&c, (int)window);
            fly(&c, AHEAD - 1);
        }
}

TEST(schedule, each_comes_again_in_time)
{
    const int turn = 2 * VARIABLES + 8 * WIDTH;
    struct locus_schedule_config c = config_of(LOCUS_ROUND_ROBIN);
    CHECK(fly(&c, 1) <= VARIABLES / WIDTH + 1);
    c.fits = fits_apart;
    int apart = fly(&c, 1);
    if (apart > 4 * VARIABLES / WIDTH) test_fail(__FILE__, __LINE__, "waited %d rounds", apart);
    c.fits = fits_nothing;
    CHECK(fly(&c, 1) <= turn);
    c.order = LOCUS_PRIORITY;
    CHECK(fly(&c, 1) <= 2 * turn);
    c.fits = NULL; /* one of them always changes by a million: the others come all the same */
    c.width = 1;
    CHECK(fly(&c, 1) <= 2 * (2 * VARIABLES + 8));
}

/* A candidate that is refused is the first of the next round. */
TEST(schedule, the_refused_come_first)
{
    struct locus_schedule_config c = config_of(LOCUS_ROUND_ROBIN);
    struct locus_part parts[WIDTH];
    c.fits = fits_nothing;
    locus_schedule *s = new_schedule(&c);
    for (int round = 0; round < 3 * VARIABLES; round++, locus_schedule_done(s)) {
        CHECK_EQ(locus_schedule_next(s, parts), 1);
        CHECK_EQ(parts[0].variable, round % VARIABLES);
    }
    locus_schedule_free(s);
}

/* ---- priority ---- */

static void check_frequencies(const uint64_t *seen, const double *weights, size_t count)
{
    double expected[VARIABLES], sum = 0, draws = 0, freedom;
    for (size_t i = 0; i < count; i++) {
        sum += weights[i];
        draws += (double)seen[i];
    }
    for (size_t i = 0; i < count; i++) expected[i] = draws * weights[i] / sum;
    double statistic = chi_square(seen, expected, count, &freedom);
    if (statistic > chi_square_bound(freedom))
        test_fail(__FILE__, __LINE__, "chi-square %f of %f degrees", statistic, freedom);
}

/* With a width of 1 and each round done at once, every second one is drawn, independently; the
 * others are in turn. */
TEST(schedule, priorities_are_frequencies)
{
    enum { DRAWS = 200000, FEW = 20 };
    struct locus_schedule_config c = config_of(LOCUS_PRIORITY);
    double weights[FEW] = {0};
    uint64_t seen[FEW] = {0};
    struct locus_part part;
    c.variables = FEW;
    c.width = 1;
    c.eta = 0.5;
    c.seed = 3;
    locus_schedule *s = new_schedule(&c);
    for (int i = 0; i < FEW; i++, locus_schedule_done(s)) {
        CHECK_EQ(locus_schedule_next(s, &part), 1);
        CHECK_EQ(part.variable, i); /* first turns */
        locus_schedule_changed(s, part.variable, i % 2 ? -0.3 * i : 0.3 * i);
        weights[i] = (double)(float)(0.3 * i) * (double)(float)(0.3 * i) + 0.5;
    }
    for (int i = FEW; i < DRAWS; i++, locus_schedule_done(s)) {
        CHECK_EQ(locus_schedule_next(s, &part), 1);
        if (i % 2 > 0) seen[part.variable]++;
    }
    check_frequencies(seen, weights, FEW);
    locus_schedule_free(s);
}

/* What is no number counts as a large change, and does not spoil the other weights. */
TEST(schedule, priorities_stand_any_change)
{
    struct locus_schedule_config c = config_of(LOCUS_PRIORITY);
    struct locus_part parts[WIDTH];
    locus_schedule *s = new_schedule(&c);
    int seen = 0;
    for (int round = 0; round < 2000; round++, locus_schedule_done(s)) {
        int count = locus_schedule_next(s, parts);
        CHECK_EQ(count, WIDTH);
        check_round(&c, parts, count);
        for (int i = 0; i < count; i++) {
            uint64_t v = parts[i].variable;
            seen += v == 5;
            locus_schedule_changed(s, v, v == 5 ? (round % 2 ? INFINITY : NAN) : 0);
        }
    }
    CHECK(seen > 1800);
    locus_schedule_changed(s, VARIABLES, 1); /* no variable: nothing happens */
    locus_schedule_free(s);
}

/* Of several that share the variables, all together have each once. */
TEST(schedule, shares_are_disjoint_and_whole)
{
    enum { SHARES = 4 };
    int seen[VARIABLES] = {0};
    for (unsigned share = 0; share < SHARES; share++) {
        struct locus_schedule_config c = config_of(LOCUS_ROUND_ROBIN);
        struct locus_part part;
        c.share = share;
        c.shares = SHARES;
        c.width = 1;
        locus_schedule *s = new_schedule(&c);
        for (unsigned v = share; v < VARIABLES; v += SHARES, locus_schedule_done(s)) {
            CHECK_EQ(locus_schedule_next(s, &part), 1);
            check_round(&c, &part, 1);
            seen[part.variable]++;
        }
        locus_schedule_free(s);
    }
    for (int v = 0; v < VARIABLES; v++) CHECK_EQ(seen[v], 1);
}

/* ---- rotation ---- */

static void check_rotation(uint64_t blocks, unsigned workers)
{
    struct locus_schedule_config c = config_of(LOCUS_ROTATION);
    struct locus_part parts[WIDTH];
    static int had[WIDTH][VARIABLES];
    memset(had, 0, sizeof had);
    c.variables = blocks;
    c.workers = workers;
    locus_schedule *s = new_schedule(&c);
    for (uint64_t round = 0; round < 2 * blocks; round++) {
        int count = locus_schedule_next(s, parts);
        CHECK_EQ(count, workers);
        check_round(&c, parts, count);
        for (unsigned w = 0; w < workers; w++) {
            CHECK_EQ(parts[w].worker, w);
            had[w][parts[w].variable]++;
            CHECK(had[w][parts[w].variable] <= (round < blocks ? 1 : 2));
        }
        locus_schedule_done(s);
    }
    locus_schedule_free(s);
}

TEST(schedule, blocks_rotate)
{
    for (unsigned workers = 1; workers <= WIDTH; workers++)
        for (uint64_t blocks = workers; blocks < 20; blocks++) check_rotation(blocks, workers);
}

/* ---- the program's own ---- */

static uint64_t next_down(void *at)
{
    uint64_t *v = at;
    *v = *v ? *v - 1 : VARIABLES - 1;
    return *v;
}

static uint64_t next_none(void *unused)
{
    (void)unused;
    return UINT64_MAX;
}

static uint64_t next_wrong(void *unused)
{
    (void)unused;
    return VARIABLES;
}

TEST(schedule, programs_have_an_order_of_their_own)
{
    uint64_t at = 0;
    struct locus_part parts[WIDTH];
    struct locus_schedule_config c = config_of(LOCUS_OWN_ORDER);
    c.next = next_down;
    c.context = &at;
    locus_schedule *s = new_schedule(&c);
    CHECK_EQ(locus_schedule_next(s, parts), WIDTH);
    for (int i = 0; i < WIDTH; i++) CHECK_EQ(parts[i].variable, VARIABLES - 1 - i);
    at = VARIABLES; /* those in the first round are passed over */
    CHECK_EQ(locus_schedule_next(s, parts), WIDTH);
    CHECK_EQ(parts[0].variable, VARIABLES - 1 - WIDTH);
    locus_schedule_free(s);
    c.next = next_none;
    s = new_schedule(&c);
    CHECK_EQ(locus_schedule_next(s, parts), 0);
    locus_schedule_free(s);
    c.next = next_wrong;
    s = new_schedule(&c);
    CHECK_EQ(locus_schedule_next(s, parts), -EINVAL);
    CHECK_STR(locus_error(), "candidate 101 is no variable");
    locus_schedule_free(s);
}

/* ---- bounds ---- */

TEST(schedule, rounds_ahead_are_bounded)
{
    struct locus_schedule_config c = config_of(LOCUS_ROUND_ROBIN);
    struct locus_part part;
    c.width = 1;
    locus_schedule *s = new_schedule(&c);
    for (int i = 0; i < LOCUS_SCHEDULE_AHEAD_MAX; i++) CHECK_EQ(locus_schedule_next(s, &part), 1);
    CHECK_EQ(locus_schedule_next(s, &part), -EBUSY);
    CHECK_STR(locus_error(), "64 rounds are given and not done");
    locus_schedule_done(s);
    CHECK_EQ(locus_schedule_next(s, &part), 1);
    locus_schedule_free(s);
    c.variables = 2; /* both under way */
    s = new_schedule(&c);
    CHECK_EQ(locus_schedule_next(s, &part), 1);
    CHECK_EQ(locus_schedule_next(s, &part), 1);
    CHECK_EQ(locus_schedule_next(s, &part), 0);
    locus_schedule_done(s);
    CHECK_EQ(locus_schedule_next(s, &part), 1);
    CHECK_EQ(part.variable, 0);
    locus_schedule_free(s);
}

static void is_refused(const struct locus_schedule_config *c, const char *part)
{
    locus_schedule *s;
    CHECK_EQ(locus_schedule_new(c, &s), -EINVAL);
    CHECK(s == NULL);
    CHECK_STR(locus_error(), part);
}

TEST(schedule, refuses_what_cannot_be)
{
    struct locus_schedule_config c = config_of(LOCUS_ROUND_ROBIN);
    c.variables = 0;
    is_refused(&c, "`variables` is 0: must be 1 to ");
    c = config_of(LOCUS_ROUND_ROBIN);
    c.width = LOCUS_SCHEDULE_WIDTH_MAX + 1;
    is_refused(&c, "`width` is 4097: must be 1 to 4096");
    c = config_of(LOCUS_ROUND_ROBIN);
    c.share = c.shares = 2;
    is_refused(&c, "`share` is 2: must be below `shares`, 2");
    c = config_of(LOCUS_PRIORITY);
    c.eta = 0;
    is_refused(&c, "`eta` is 0: must be above 0");
    c = config_of(LOCUS_OWN_ORDER);
    is_refused(&c, "`next` is NULL");
    c = config_of(LOCUS_ROTATION);
    c.variables = 2;
    is_refused(&c, "2 blocks rotate among 3 workers");
    c = config_of((enum locus_order)9);
    is_refused(&c, "`order` is 9: no such order");
}
