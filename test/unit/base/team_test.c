/* team: each part is done once, by whoever takes it, before the run ends. */
#include "base/team.h"
#include "test.h"

#include <sched.h>

enum { PARTS = 40, RUNS = 300, HELPERS = 3 };

struct sums {
    unsigned run;
    unsigned seen[PARTS]; /* plain: each part has one thread, and the runs follow one another */
};

static void add(void *sums, unsigned part)
{
    struct sums *s = sums;
    CHECK(part < PARTS);
    s->seen[part] += s->run;
    if (part % 8 == 0) sched_yield();
}

static void runs_all(unsigned helpers)
{
    struct team *t = helpers > 0 ? team_new(helpers) : NULL;
    CHECK((t != NULL) == (helpers > 0));
    struct sums s = {0, {0}};
    unsigned expected = 0;
    for (s.run = 1; s.run <= RUNS; s.run++) {
        team_do(t, PARTS, add, &s);
        expected += s.run;
        for (unsigned i = 0; i < PARTS; i++) CHECK_EQ(s.seen[i], expected);
    }
    team_do(t, 0, add, &s);
    team_free(t);
}

TEST(team, do_runs_each_part_once)
{
    for (unsigned helpers = 0; helpers <= HELPERS; helpers++) runs_all(helpers);
}

struct meeting {
    unsigned arrived;
};

/* Until all threads are in. */
static void meet(void *meeting, unsigned part)
{
    struct meeting *m = meeting;
    (void)part;
    __atomic_fetch_add(&m->arrived, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&m->arrived, __ATOMIC_RELAXED) < HELPERS + 1) sched_yield();
}

TEST(team, do_uses_all_threads)
{
    struct team *t = team_new(HELPERS);
    for (int i = 0; i < 50; i++) {
        struct meeting m = {0};
        team_do(t, HELPERS + 1, meet, &m);
        CHECK_EQ(m.arrived, HELPERS + 1);
    }
    team_free(t);
}
