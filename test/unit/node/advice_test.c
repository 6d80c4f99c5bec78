#include "node/advice.h"

#include "test.h"

#include <errno.h>
#include <stdlib.h>

static const struct advice_sums nothing = {.ns = 1};

TEST(advice, is_given_where_an_eighth_is_elsewhere)
{
    struct advice_sums s = {.keys = 100000, .remote = 12499};
    CHECK_EQ(advice_between(&nothing, &s), ADVICE_NONE);
    s.remote++;
    CHECK_EQ(advice_between(&nothing, &s), ADVICE_INTEND);
}

TEST(advice, is_not_given_for_a_few_keys)
{
    struct advice_sums s = {.keys = ADVICE_KEYS_MIN - 1, .remote = ADVICE_KEYS_MIN - 1};
    CHECK_EQ(advice_between(&nothing, &s), ADVICE_NONE);
}

TEST(advice, tells_what_is_wrong_with_intents)
{
    struct advice_sums s = {.keys = 10000, .remote = 5000, .signaled = 7000};
    CHECK_EQ(advice_between(&nothing, &s), ADVICE_ADVANCE);
    s.clock = 1;
    CHECK_EQ(advice_between(&nothing, &s), ADVICE_INTEND); /* of other keys than are accessed */
    s.late = 2500;
    CHECK_EQ(advice_between(&nothing, &s), ADVICE_EARLIER);
    s.late = 0;
    s.remote = 4999; /* that may be an evaluation */
    CHECK_EQ(advice_between(&nothing, &s), ADVICE_NONE);
}

/* One key in a hundred, but one in most calls. */
TEST(advice, is_given_where_few_keys_make_calls_wait)
{
    const struct advice_sums from = {.ns = 1000};
    struct advice_sums s = {.ns = 9000, .keys = 1000000, .remote = 10000, .waited_ns = 1000};
    CHECK_EQ(advice_between(&from, &s), ADVICE_NONE);
    s.waited_ns++;
    CHECK_EQ(advice_between(&from, &s), ADVICE_INTEND);
    s.signaled = 1000000;
    CHECK_EQ(advice_between(&from, &s), ADVICE_ADVANCE);
    s.clock = 1;
    CHECK_EQ(advice_between(&from, &s), ADVICE_INTEND);
    s.late = 5000;
    CHECK_EQ(advice_between(&from, &s), ADVICE_EARLIER);
    s.remote = ADVICE_KEYS_MIN - 1; /* a few large calls, such as those of a start */
    CHECK_EQ(advice_between(&from, &s), ADVICE_NONE);
}

/* It pulls everything, from wherever it is, after a training that signaled. */
TEST(advice, is_not_given_to_an_evaluation)
{
    struct advice_sums from = {.ns = 1, .keys = 10000, .signaled = 10000, .clock = 100}, to = from;
    to.keys += 10000;
    to.remote += 7500;
    CHECK_EQ(advice_between(&from, &to), ADVICE_NONE);
}

/* What came before the window does not count. */
TEST(advice, looks_at_a_window)
{
    struct advisor a = {.window_ns = 100};
    struct advice_sums from = {0}, to = {.ns = 1000, .keys = 5000, .remote = 5000};
    advice_look(&a, 0, 0, &from, &to);
    to.ns += 99;
    to.keys += 5000;
    advice_look(&a, 0, 0, &from, &to);
    CHECK_EQ(from.ns, 1000);
    to.ns++;
    advice_look(&a, 0, 0, &from, &to);
    CHECK_EQ(from.ns, 1100);
    for (int advice = 0; advice < ADVICE_KINDS; advice++) CHECK_EQ(a.found[advice], 0);
    to.ns += 100;
    to.keys += 5000;
    to.remote += 5000;
    advice_look(&a, 0, 0, &from, &to);
    CHECK_EQ(a.found[ADVICE_INTEND], 1);
}

/* Half of it is an evaluation, which began and ended within the window. */
TEST(advice, leaves_out_what_is_skipped)
{
    struct advice_sums from = {.ns = 100, .keys = 50}, first = from, last, to;
    first.ns = 200;
    first.keys = 10000;
    first.signaled = 9000;
    first.clock = 7;
    last = first;
    last.ns = 900;
    last.keys = 20000;
    last.remote = 7500;
    last.waited_ns = 600;
    to = last;
    to.ns = 1000;
    to.clock = 9;
    CHECK_EQ(advice_between(&from, &to), ADVICE_INTEND);
    advice_skip(&from, &first, &last);
    CHECK_EQ(advice_between(&from, &to), ADVICE_NONE);
    CHECK_EQ(from.ns, 800);
    CHECK_EQ(to.keys - from.keys, first.keys - 50);
}

/* Their rows were here when they were chosen: nobody could signal them. */
TEST(advice, is_not_given_for_samples_that_left)
{
    const struct advice_sums from = {.ns = 1};
    struct advice_sums to = {
        .ns = 8001, .keys = 1000000, .remote = 2000, .waited_ns = 4000, .signaled = 1, .clock = 1};
    CHECK_EQ(advice_between(&from, &to), ADVICE_INTEND);
    to.drawn = 900000;
    CHECK_EQ(advice_between(&from, &to), ADVICE_NONE);
    to.late = 1000;
    CHECK_EQ(advice_between(&from, &to), ADVICE_EARLIER);
    to.late = 0;
    to.remote = 500000;
    CHECK_EQ(advice_between(&from, &to), ADVICE_INTEND);
}

/* A window of steps, most of whose keys were not signaled, may end in an evaluation; two may
 * not. */
TEST(advice, waits_for_a_second_window_where_the_first_is_doubtful)
{
    struct advisor a = {.window_ns = 100};
    struct advice_sums from = {.ns = 1}, to = from;
    for (int window = 1; window <= 3; window++) {
        to.ns += 100;
        to.keys += 10000;
        to.remote += 7500;
        to.signaled += 1000;
        to.clock++;
        advice_look(&a, 0, 0, &from, &to);
        CHECK_EQ(a.found[ADVICE_INTEND], (uint64_t)window - 1);
    }
}

TEST(advice, is_read_from_the_environment)
{
    struct advisor a;
    CHECK_EQ(setenv("LOCUS_ADVICE", "0", 1), 0);
    CHECK_EQ(advisor_init(&a), 0);
    CHECK_EQ(a.window_ns, 0);
    CHECK_EQ(setenv("LOCUS_ADVICE", "2.5", 1), 0);
    CHECK_EQ(advisor_init(&a), 0);
    CHECK_EQ(a.window_ns, 2500000000);
    const char *wrong[] = {"", "often", "-1", "1e9", "nan", "3 s"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_EQ(setenv("LOCUS_ADVICE", wrong[i], 1), 0);
        REFUSED(advisor_init(&a), -EINVAL, "LOCUS_ADVICE is");
    }
    CHECK_EQ(unsetenv("LOCUS_ADVICE"), 0);
    CHECK_EQ(advisor_init(&a), 0);
    CHECK_EQ(a.window_ns, 10000000000);
}
