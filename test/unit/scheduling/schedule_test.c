/* Schedules: what a round has, and what is refused. Which variables a round never has together, when
 * each comes again, and how often: the simulation (test/sim/schedule). */
#include "test.h"
#include "locus_schedule.h"

#include <errno.h>
#include <math.h>

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

/* ---- priority ---- */

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

/* ---- left out ---- */

TEST(schedule, a_share_of_which_all_are_left_out_is_refused)
{
    const float changes[] = {-1, 0, -1, -1};
    struct locus_schedule_config c = config_of(LOCUS_ROUND_ROBIN);
    locus_schedule *s;
    c.variables = 4;
    c.changes = changes;
    c.shares = 2;
    CHECK_EQ(locus_schedule_new(&c, &s), -EINVAL);
    CHECK_STR(locus_error(), "share 0");
    c.share = 1;
    locus_schedule_free(new_schedule(&c));
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
