#include "worker/advice.h"

#include "test.h"

#include <errno.h>
#include <stdlib.h>

/* What is said between two looks at the sums of a node. */
TEST(advice, between_two_looks_depends_on_what_was_elsewhere_signaled_and_late)
{
    enum { FEW = ADVICE_KEYS_MIN - 1, NS = 8000 }; /* NS: between the looks */
    static const struct {
        const char *what;
        unsigned keys, remote, signaled, late, clock, waited_ns, drawn;
        enum advice advice;
        unsigned waits;
    } cases[] = {
        {"less than an eighth is elsewhere", 100000, 12499, 0, 0, 0, 0, 0, ADVICE_NONE, 0},
        {"an eighth is elsewhere", 100000, 12500, 0, 0, 0, 0, 0, ADVICE_INTEND, 0},
        {"a few keys", FEW, FEW, 0, 0, 0, 0, 0, ADVICE_NONE, 0},
        {"intents without a clock", 10000, 5000, 7000, 0, 0, 0, 0, ADVICE_ADVANCE, 0},
        {"intents of other keys than are accessed", 10000, 5000, 7000, 0, 1, 0, 0, ADVICE_INTEND,
         0},
        {"late intents", 10000, 5000, 7000, 2500, 1, 0, 0, ADVICE_EARLIER, 0},
        {"may be an evaluation: less than half", 10000, 4999, 7000, 0, 1, 0, 0, ADVICE_NONE, 0},
        {"an eighth of the time waited", 1000000, 10000, 0, 0, 0, 1000, 0, ADVICE_NONE, 0},
        {"few keys make calls wait", 1000000, 10000, 0, 0, 0, 1001, 0, ADVICE_INTEND, 0},
        {"so, without a clock", 1000000, 10000, 1000000, 0, 0, 1001, 0, ADVICE_ADVANCE, 0},
        {"so, with intents", 1000000, 10000, 1000000, 0, 1, 1001, 0, ADVICE_INTEND, 0},
        {"so, with late ones", 1000000, 10000, 1000000, 5000, 1, 1001, 0, ADVICE_EARLIER, 0},
        {"a few large calls, as of a start", 1000000, FEW, 0, 0, 1, 1001, 0, ADVICE_NONE, 0},
        {"few late keys, for each of which a call waits", 1000000, 700, 1000000, 700, 1, 4000, 0,
         ADVICE_EARLIER, 32},
        {"so, but not often", 1000000, 700, 1000000, 700, 1, 4000, 0, ADVICE_NONE, 31},
        {"so, but not long", 1000000, 700, 1000000, 700, 1, 1000, 0, ADVICE_NONE, 700},
        {"samples, not drawn", 1000000, 2000, 1, 0, 1, 4000, 0, ADVICE_INTEND, 0},
        {"samples that left, not to be signaled", 1000000, 2000, 1, 0, 1, 4000, 900000, ADVICE_NONE,
         0},
        {"so, with late intents", 1000000, 2000, 1, 1000, 1, 4000, 900000, ADVICE_EARLIER, 0},
        {"more than samples left", 1000000, 500000, 1, 0, 1, 4000, 900000, ADVICE_INTEND, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct advice_sums from = {.ns = 1, .keys = 10000, .clock = 100};
        struct advice_sums to = {.ns = from.ns + NS,
                                 .keys = from.keys + cases[i].keys,
                                 .remote = cases[i].remote,
                                 .signaled = cases[i].signaled,
                                 .late = cases[i].late,
                                 .clock = from.clock + cases[i].clock,
                                 .waited_ns = cases[i].waited_ns,
                                 .waits = cases[i].waits,
                                 .drawn = cases[i].drawn};
        if (advice_between(&from, &to) != cases[i].advice)
            test_fail(__FILE__, __LINE__, "%s", cases[i].what);
    }
    /* An evaluation pulls everything, from wherever it is, after a training that signaled. */
    const struct advice_sums from = {.keys = 10000, .signaled = 10000, .clock = 100},
                             to = {.keys = 20000, .remote = 7500, .signaled = 10000, .clock = 100};
    CHECK_EQ(advice_between(&from, &to), ADVICE_NONE);
}

/* What came before the window does not count. */
TEST(advice, look_compares_windows)
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
TEST(advice, skip_leaves_out_an_evaluation)
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
    last.waits = 100;
    to = last;
    to.ns = 1000;
    to.clock = 9;
    CHECK_EQ(advice_between(&from, &to), ADVICE_INTEND);
    advice_skip(&from, &first, &last);
    CHECK_EQ(advice_between(&from, &to), ADVICE_NONE);
    CHECK_EQ(from.ns, 800);
    CHECK_EQ(to.keys - from.keys, first.keys - 50);
    CHECK_EQ(to.waits, from.waits);
}

/* A window of steps, most of whose keys were not signaled, may end in an evaluation; two may
 * not. */
TEST(advice, look_waits_for_a_second_doubtful_window)
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

TEST(advice, init_reads_the_environment)
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
