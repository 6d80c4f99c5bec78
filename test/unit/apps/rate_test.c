/* Learning rates: schedules as PyTorch and its users have them, by hand. */
#include "ending.h"
#include "rate.h"
#include "test.h"

#include <math.h>
#include <stdio.h>

static void parse(const void *schedule)
{
    struct rate r;
    rate_parse(&r, schedule);
}

TEST(rate, schedules_follow_their_formulas)
{
    static const struct {
        const char *schedule;
        double progress, share;
    } cases[] = {
        {"constant", 0, 1},
        {"constant,warmup=0.5", 0.125, 0.25},
        {"linear", 0, 1},
        {"linear", 1, 0},
        {"linear", 1.5, 0},
        {"linear,to=0.1", 0.5, 0.55},
        {"linear,warmup=0.2", 0.1, 0.5},
        {"cosine", 1 / 3.0, 0.75},
        {"cosine,warmup=0.25,to=0.2", 0.5, 0.2 + 0.8 * 0.75},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rate r;
        rate_parse(&r, cases[i].schedule);
        double share = rate_share(&r, cases[i].progress);
        if (fabs(share - cases[i].share) > 1e-12)
            test_fail(__FILE__, __LINE__, "%s at %g: %.17g", cases[i].schedule, cases[i].progress,
                      share);
    }
}

TEST(rate, schedules_that_are_none_are_refused)
{
    static const char *const wrong[] = {"",
                                        "lin",
                                        "linears",
                                        "linear,",
                                        "linear,to=",
                                        "linear,to=2",
                                        "cosine,to=nan",
                                        ",to=0.1",
                                        "linear to=0.1",
                                        "constant,to=0.5",
                                        "linear,to=0x0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ends_with(parse, wrong[i], 2, "must be constant, linear or cosine, then ,warmup=X");
}

/* The first step of an AdaGrad weight, whatever its gradient, is a whole rate. */
TEST(rate, among_makes_first_steps_of_many_workers_as_long_as_one)
{
    for (unsigned workers = 1; workers <= 64; workers *= 4) {
        CHECK(fabs(rate_among(0, workers) * workers - 1) < 1e-12);
        CHECK(rate_among(workers - 1, workers) == 1 && rate_among(1e9, workers) == 1);
        for (unsigned step = 1; step < workers; step++)
            CHECK(rate_among(step, workers) > rate_among(step - 1, workers));
    }
}
