/* Schedules: what is refused, where they go on, and weights that are no numbers. Which variables a
 * round has, when each comes again, and how often: the simulation (test/sim/schedule). */
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

/* A round of one. */
static uint64_t next_of(locus_schedule *s)
{
    struct locus_part part = {0};
    CHECK_EQ(locus_schedule_next(s, &part), 1);
    locus_schedule_done(s);
    return part.variable;
}

TEST(schedule, new_refuses_each_field_out_of_range)
{
    static const float left_out[] = {-1, 0, -1, -1};
    static const struct {
        const char *sentence;
        enum locus_order order;
        uint64_t variables;
        unsigned width, shares, share;
        double eta;
        const float *changes;
    } cases[] = {
        {"`variables` is 0: must be 1 to ", LOCUS_ROUND_ROBIN, 0, 8, 1, 0, 1, NULL},
        {"`width` is 4097: must be 1 to 4096", LOCUS_ROUND_ROBIN, 9, 4097, 1, 0, 1, NULL},
        {"`share` is 2: must be below `shares`, 2", LOCUS_ROUND_ROBIN, 9, 8, 2, 2, 1, NULL},
        {"`eta` is 0: must be above 0", LOCUS_PRIORITY, 9, 8, 1, 0, 0, NULL},
        {"`next` is NULL", LOCUS_OWN_ORDER, 9, 8, 1, 0, 1, NULL},
        {"2 blocks rotate among 3 workers", LOCUS_ROTATION, 2, 8, 1, 0, 1, NULL},
        {"`order` is 9: no such order", (enum locus_order)9, 9, 8, 1, 0, 1, NULL},
        {"a rotation has no filter and no changes", LOCUS_ROTATION, 4, 8, 1, 0, 1, left_out},
        {"share 0", LOCUS_ROUND_ROBIN, 4, 8, 2, 0, 1, left_out},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct locus_schedule_config c = config_of(cases[i].order);
        locus_schedule *s;
        c.variables = cases[i].variables;
        c.width = cases[i].width;
        c.shares = cases[i].shares;
        c.share = cases[i].share;
        c.eta = cases[i].eta;
        c.changes = cases[i].changes;
        if (locus_schedule_new(&c, &s) != -EINVAL || s)
            test_fail(__FILE__, __LINE__, "accepted: %s", cases[i].sentence);
        CHECK_STR(locus_error(), cases[i].sentence);
    }
}

/* A share of three, the second, which has 1, 4, 7, ...; turns are those of all. */
TEST(schedule, new_goes_on_with_the_turn_of_the_config)
{
    static const struct {
        uint64_t turn, first;
    } of[] = {{0, 1}, {1, 1}, {2, 4}, {5, 7}, {97, 97}, {98, 100}, {99, 100}, {101, 1}, {108, 7}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct locus_schedule_config c = config_of(LOCUS_ROUND_ROBIN);
        c.width = 1;
        c.shares = 3;
        c.share = 1;
        c.turn = of[i].turn;
        locus_schedule *s = new_schedule(&c);
        uint64_t first = next_of(s);
        locus_schedule_free(s);
        if (first != of[i].first)
            test_fail(__FILE__, __LINE__, "turn %d begins with %d", (int)of[i].turn, (int)first);
    }
}

/* Where another one was after so many rounds. */
TEST(schedule, new_rotation_goes_on_with_the_turn_of_the_config)
{
    enum { ROUNDS = VARIABLES + 7 };
    struct locus_schedule_config c = config_of(LOCUS_ROTATION);
    struct locus_part parts[WIDTH], others[WIDTH];
    locus_schedule *s = new_schedule(&c);
    for (c.turn = 0; c.turn < ROUNDS; c.turn++, locus_schedule_done(s)) {
        locus_schedule *other = new_schedule(&c);
        int count = locus_schedule_next(s, parts);
        CHECK(count == (int)c.workers && locus_schedule_next(other, others) == count);
        for (int i = 0; i < count; i++)
            CHECK(parts[i].variable == others[i].variable && parts[i].worker == others[i].worker);
        locus_schedule_free(other);
    }
    locus_schedule_free(s);
}

TEST(schedule, new_goes_on_with_the_changes_of_the_config)
{
    enum { DRAWS = 1600 };
    static float changes[VARIABLES] = {[5] = 2, [6] = 1000 /* of another share */};
    unsigned of_5 = 0;
    struct locus_schedule_config c = config_of(LOCUS_PRIORITY);
    c.width = 1;
    c.shares = 2;
    c.share = 1;
    c.changes = changes;
    locus_schedule *s = new_schedule(&c);
    for (unsigned i = 0; i < DRAWS; i++) {
        uint64_t variable = next_of(s);
        of_5 += variable == 5;
        locus_schedule_changed(s, variable, variable == 5 ? 2 : 0);
    }
    CHECK(of_5 > DRAWS / 2 - DRAWS / 20); /* every second one comes in turn */
    locus_schedule_free(s);
}

/* It counts as a large change, and does not spoil the other weights. */
TEST(schedule, changed_stands_what_is_no_number)
{
    struct locus_schedule_config c = config_of(LOCUS_PRIORITY);
    struct locus_part parts[WIDTH];
    locus_schedule *s = new_schedule(&c);
    int seen = 0;
    for (int round = 0; round < 2000; round++, locus_schedule_done(s)) {
        CHECK_EQ(locus_schedule_next(s, parts), WIDTH);
        for (int i = 0; i < WIDTH; i++) {
            uint64_t v = parts[i].variable;
            seen += v == 5;
            locus_schedule_changed(s, v, v == 5 ? (round % 2 ? INFINITY : NAN) : 0);
        }
    }
    CHECK(seen > 1800);
    locus_schedule_changed(s, VARIABLES, 1); /* no variable: nothing happens */
    locus_schedule_free(s);
}

/* ---- the program's own order ---- */

static uint64_t own_next(void *context)
{
    static const uint64_t list[] = {6, 6, 10};
    unsigned *at = context;
    return *at < 3 ? list[(*at)++] : UINT64_MAX;
}

static uint64_t always_0(void *context)
{
    (void)context;
    return 0;
}

TEST(schedule, next_refuses_a_candidate_of_another_share_and_takes_one_that_has_no_more)
{
    struct locus_schedule_config c = config_of(LOCUS_OWN_ORDER);
    struct locus_part part;
    unsigned at = 0;
    c.variables = 12;
    c.shares = 3;
    c.width = 1;
    c.next = own_next;
    c.context = &at;
    locus_schedule *s = new_schedule(&c);
    CHECK_EQ(locus_schedule_next(s, &part), 1);
    CHECK_EQ(part.variable, 6);
    CHECK_EQ(locus_schedule_next(s, &part), -EINVAL); /* past one that is under way */
    CHECK_STR(locus_error(), "candidate 10 is no variable: must be below 12, and 0 modulo 3");
    CHECK_EQ(locus_schedule_next(s, &part), 0);
    locus_schedule_free(s);
    c.shares = 1;
    c.next = always_0;
    s = new_schedule(&c);
    CHECK_EQ(locus_schedule_next(s, &part), 1);
    CHECK_EQ(locus_schedule_next(s, &part), 0); /* it is not asked for ever */
    locus_schedule_free(s);
}
