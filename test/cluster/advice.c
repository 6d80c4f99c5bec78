/* What a node says on stderr to programs that wait for others without need, and that it says
 * nothing to those that do not. */
#include "command.h"
#include "team.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 4096, STEP = 64, LENGTH = 4 };
static const struct locus_table table = {.rows = KEYS, .length = LENGTH};
static enum { NOTHING, LOCKSTEP, CLOCK, LATE, GOOD } way;

static void draw(struct seat *s, locus_key keys[STEP])
{
    for (int i = 0; i < STEP; i++) keys[i] = seat_random(s, KEYS);
}

static uint64_t advice_of(const struct locus_stats *stats)
{
    switch (way) {
    case NOTHING:
    case LOCKSTEP: return stats->advice_intend;
    case CLOCK: return stats->advice_advance;
    case LATE: return stats->advice_earlier;
    default: return stats->advice_intend + stats->advice_advance + stats->advice_earlier;
    }
}

/* Until both nodes were advised twice: the second time nothing is said. Neither stops before, or all
 * rows would come to the other, which then has no reason. */
static void learn(struct seat *s)
{
    static float rows[2][STEP * LENGTH];
    static int advised; /* atomic: how many nodes were */
    locus_key keys[STEP];
    bool is_advised = false;
    for (double end = now_s() + HANG_S;
         way == LOCKSTEP || __atomic_load_n(&advised, __ATOMIC_RELAXED) < 2;) {
        struct locus_stats stats = stats_of(s->node);
        if (!is_advised && advice_of(&stats) >= 2) {
            is_advised = true;
            __atomic_add_fetch(&advised, 1, __ATOMIC_RELAXED);
        }
        CHECK(now_s() < end);
        locus_clock now = locus_current_clock(s->worker);
        draw(s, keys);
        if (way == CLOCK)
            CHECK_EQ(locus_intent(s->worker, keys, STEP, now + 1000000, now + 1000001), 0);
        if (way == LATE) CHECK_EQ(locus_intent(s->worker, keys, STEP, now, now + 1), 0);
        CHECK_EQ(locus_pull(s->worker, keys, STEP, rows[s->rank]), 0);
        if (way != CLOCK) locus_advance_clock(s->worker);
        if (way == LOCKSTEP) { /* all meet after each step */
            double done = is_advised;
            CHECK_EQ(locus_sum(s->worker, &done, 1), 0);
            if (done >= 2) break;
        }
    }
}

/* It pulls from wherever rows are, as an evaluation does. */
static void evaluate(struct seat *s)
{
    static float rows[2][STEP * LENGTH];
    locus_key keys[STEP];
    CHECK_EQ(locus_barrier(s->worker), 0);
    for (double end = now_s() + 0.1; now_s() < end;) {
        draw(s, keys);
        CHECK_EQ(locus_pull(s->worker, keys, STEP, rows[s->rank]), 0);
    }
    CHECK_EQ(locus_barrier(s->worker), 0);
}

/* Whatever it trains with it has intended long before, and finds here. */
static void train(struct seat *s)
{
    locus_key keys[STEP];
    float row[LENGTH];
    draw(s, keys);
    CHECK_EQ(locus_intent(s->worker, keys, STEP, 0, INT64_MAX), 0);
    for (int i = 0; i < STEP; i++)
        while (locus_pull_local(s->worker, keys[i], row)) sleep_s(0.001);
    for (int epoch = 0; epoch < 10; epoch++) {
        locus_clock now = locus_current_clock(s->worker);
        CHECK_EQ(locus_intent(s->worker, keys, STEP, now, now + 1), 0);
        for (double end = now_s() + 0.05; now_s() < end; locus_advance_clock(s->worker))
            for (int i = 0; i < STEP; i++) CHECK_EQ(locus_pull(s->worker, &keys[i], 1, row), 0);
        evaluate(s);
    }
    struct locus_stats stats = stats_of(s->node);
    CHECK_EQ(advice_of(&stats), 0);
}

static void attend(struct seat *s)
{
    if (way == GOOD)
        train(s);
    else
        learn(s);
}

/* Two nodes have four threads at least. */
static void use_one_processor(void)
{
    cpu_set_t set;
    CHECK_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &set)) last--;
    CPU_ZERO(&set);
    CPU_SET(last, &set);
    CHECK_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

ROLE(advised)
{
    const struct team team = {TEAM_OF(2, 1, 1, LOCUS_ADAPTIVE, &table, 1)};
    way = atoi(arguments);
    if (way == LATE) use_one_processor();
    team_run(&team, attend);
}

static int count_of(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text++) n++;
    return n;
}

/* Of two nodes each says it once. */
TEST(advice, is_told_once_by_each_node)
{
    static const struct {
        int what;
        const char *sentence;
    } all[] = {
        {NOTHING, "no intent was signaled: call locus_intent() some steps ahead"},
        {LOCKSTEP, "no intent was signaled: call locus_intent() some steps ahead"},
        {CLOCK,
         "its clock was not advanced, so intents that begin later wait: call locus_advance_clock()"},
        {LATE,
         "the intents for them came too late: signal them more steps ahead, or use fewer nodes "
         "or workers here: this host has more threads than cores ("},
    };
    static struct command c;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        command_must(&c, "LOCUS_ADVICE=0.2 %s %d", role_command("advised"), all[i].what);
        if (count_of(c.err.text, all[i].sentence) != 2)
            test_fail(__FILE__, __LINE__, "not twice \"%s\", but: %s", all[i].sentence, c.err.text);
        CHECK_EQ(count_of(c.err.text, "node 0, worker 0: "),
                 count_of(c.err.text, "node 1, worker 0: "));
    }
}

TEST(advice, is_not_given_to_who_needs_none)
{
    static struct command c;
    command_must(&c, "LOCUS_ADVICE=0.2 %s %d", role_command("advised"), GOOD);
    CHECK_EQ(count_of(c.err.text, "locus:"), 0);
    CHECK(command_run(&c, "LOCUS_ADVICE=0.1s %s %d", role_command("advised"), GOOD) != 0);
    CHECK_STR(c.err.text, "LOCUS_ADVICE is \"0.1s\": must be a number of seconds");
}
