#include "scheduling/candidates.h"

#include "test.h"
#include "locus.h"

#include <errno.h>

enum { COUNT = 70 };

struct scene {
    struct locus_schedule_config config;
    struct candidates candidates;
};

static uint64_t next(struct scene *s)
{
    uint64_t variable = COUNT;
    CHECK_EQ(candidates_next(&s->candidates, &variable), 1);
    CHECK(variable < COUNT);
    return variable;
}

/* A share of three, of which the second has 1, 4, 7, ...: local 0, 1, 2, ... */
static void begin_where_one_was(struct scene *s, enum locus_order order, uint64_t turn,
                                const float *changes)
{
    locus_schedule_config_init(&s->config);
    s->config.order = order;
    s->config.variables = 3 * COUNT;
    s->config.shares = 3;
    s->config.share = 1;
    s->config.turn = turn;
    s->config.changes = changes;
    CHECK_EQ(candidates_init(&s->candidates, &s->config, COUNT), 0);
}

TEST(candidates, in_turn_go_on_where_they_were)
{
    static const struct {
        uint64_t turn, first;
    } of[] = {{0, 0},
              {1, 0},
              {2, 1},
              {4, 1},
              {5, 2},
              {3 * COUNT - 2, COUNT - 1},
              {3 * COUNT - 1, 0},
              {3 * COUNT, 0},
              {3 * COUNT + 7, 2}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct scene s;
        begin_where_one_was(&s, LOCUS_ROUND_ROBIN, of[i].turn, NULL);
        for (uint64_t v = 0; v < COUNT; v++) CHECK_EQ(next(&s), (of[i].first + v) % COUNT);
        candidates_fini(&s.candidates);
    }
}

TEST(candidates, by_priority_go_on_with_what_had_changed)
{
    struct scene s;
    float changes[3 * COUNT] = {0};
    unsigned of_5 = 0, draws = 16 * 100;
    changes[3 * 5 + 1] = 2;
    changes[3 * 6] = 1000; /* of another share */
    begin_where_one_was(&s, LOCUS_PRIORITY, 3 * 9, changes);
    CHECK_EQ(next(&s), 9); /* a turn */
    candidates_free(&s.candidates, 9);
    for (unsigned i = 0; i < draws; i++) {
        uint64_t v = next(&s);
        of_5 += v == 5;
        candidates_free(&s.candidates, v);
    }
    CHECK(of_5 >= draws - draws / CANDIDATES_TURN - 2);
    candidates_fini(&s.candidates);
}

/* ---- the program's own ---- */

struct own {
    const uint64_t *list;
    unsigned at, count;
};

static uint64_t own_next(void *context)
{
    struct own *o = context;
    return o->at < o->count ? o->list[o->at++] : UINT64_MAX;
}

TEST(candidates, of_the_programs_own_are_its_share)
{
    static const uint64_t list[] = {6, 9, 9, 6, 10};
    struct own own = {list, 0, 5};
    struct scene s;
    uint64_t v;
    locus_schedule_config_init(&s.config);
    s.config.order = LOCUS_OWN_ORDER;
    s.config.variables = 12;
    s.config.shares = 3;
    s.config.next = own_next;
    s.config.context = &own;
    CHECK_EQ(candidates_init(&s.candidates, &s.config, 4), 0);
    CHECK_EQ(candidates_next(&s.candidates, &v), 1);
    CHECK_EQ(v, 2); /* 6, of every third */
    CHECK_EQ(candidates_next(&s.candidates, &v), 1);
    CHECK_EQ(v, 3);
    CHECK_EQ(candidates_next(&s.candidates, &v), -EINVAL); /* past two busy ones: 10 */
    CHECK_STR(locus_error(), "candidate 10 is no variable: must be below 12, and 0 modulo 3");
    CHECK_EQ(candidates_next(&s.candidates, &v), 0); /* it has no more */
    candidates_fini(&s.candidates);
}

static uint64_t always_0(void *context)
{
    (void)context;
    return 0;
}

TEST(candidates, a_function_that_knows_one_alone_does_not_hold_us_up)
{
    struct scene s;
    uint64_t v;
    locus_schedule_config_init(&s.config);
    s.config.order = LOCUS_OWN_ORDER;
    s.config.variables = COUNT;
    s.config.next = always_0;
    CHECK_EQ(candidates_init(&s.candidates, &s.config, COUNT), 0);
    CHECK_EQ(candidates_next(&s.candidates, &v), 1);
    CHECK_EQ(candidates_next(&s.candidates, &v), 0);
    candidates_fini(&s.candidates);
}
