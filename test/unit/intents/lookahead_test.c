#include "intents/pacer.h"

#include "test.h"

#include <math.h>

/* A long double holds exp(-11000) and everything after it. */
static long double reference_cdf(double mean, locus_clock k)
{
    long double term = expl(-(long double)mean), sum = term;
    for (locus_clock i = 1; i <= k; i++) {
        term *= (long double)mean / i;
        sum += term;
    }
    return k < 0 ? 0 : sum;
}

/* The least clock whose probability reaches the quantile, up to `slack` clocks. */
static void check_quantile(double mean, locus_clock slack)
{
    const long double rounding = slack ? 0 : 1e-11L;
    locus_clock k = lookahead_quantile(mean);
    if (reference_cdf(mean, k + slack) < LOOKAHEAD_QUANTILE - rounding)
        test_fail(__FILE__, __LINE__, "%g: %lld is too low", mean, (long long)k);
    if (reference_cdf(mean, k - 1 - slack) >= LOOKAHEAD_QUANTILE + rounding)
        test_fail(__FILE__, __LINE__, "%g: %lld is too high", mean, (long long)k);
}

TEST(lookahead, quantile_is_that_of_the_sums_and_beyond_100_off_by_one_at_most)
{
    for (int step = 0; step < 170; step++) check_quantile(0.001 * pow(1.07, step), 0); /* to 92 */
    for (int mean = 1; mean <= 100; mean++) check_quantile(mean, 0);
    for (int step = 0; step < 200; step++) check_quantile(100.001 * pow(1.0233, step), 1);
}

TEST(lookahead, quantile_grows_with_the_rate_and_is_none_without)
{
    locus_clock last = 0;
    for (int step = 0; step < 3200; step++) { /* up to 6.7e11 */
        locus_clock k = lookahead_quantile(0.01 * pow(1.01, step));
        CHECK(k >= last);
        last = k;
    }
    CHECK(last > 100000000000);
    CHECK_EQ(lookahead_quantile(0), 0);
    CHECK_EQ(lookahead_quantile(-1), 0);
    CHECK_EQ(lookahead_quantile(NAN), 0);
}

/* ---- Algorithm 1 ---- */

static void rounds_of(struct lookahead *t, int rounds, locus_clock from, locus_clock to)
{
    while (rounds-- > 0) {
        t->at_start = from;
        lookahead_end(t, to);
    }
}

/* The worker evaluates, or waits at a barrier: slow rounds later must not find the estimate gone.
 * However long, it is one observation. And where a worker opens anew, whose clock begins at 0, the
 * round that was under way says nothing. */
TEST(lookahead, pause_and_clock_that_begins_anew_leave_the_rate_alone)
{
    struct lookahead t;
    lookahead_init(&t);
    rounds_of(&t, 1, 5000, 3);
    CHECK(t.rate == 10);
    rounds_of(&t, 1, 0, 30);
    const struct lookahead before = t;
    rounds_of(&t, 1000, 30, 30);
    CHECK(t.rate == before.rate);
    CHECK_EQ(t.lookahead, before.lookahead);
    lookahead_init(&t);
    rounds_of(&t, 100000, 5, 5);
    rounds_of(&t, 1, 5, 15);
    CHECK(t.rate > 9 && t.rate < 9.001);
}

TEST(lookahead, rate_follows_a_worker_that_changes_its_pace)
{
    struct lookahead t;
    lookahead_init(&t);
    rounds_of(&t, 200, 0, 1);
    CHECK(t.rate < 1.001);
    CHECK(t.lookahead <= 10);
    rounds_of(&t, 200, 0, 500);
    CHECK(t.rate > 499);
    CHECK_EQ(t.lookahead, lookahead_quantile(1000));
    for (int clock = 0; clock < 200; clock++) { /* of many rounds each */
        rounds_of(&t, 999, clock, clock);
        rounds_of(&t, 1, clock, clock + 1);
    }
    CHECK_EQ(t.lookahead, 2); /* what starts with the next one begins before it comes */
}

/* ---- the margin: as wide as it must be for one intent in 10,000 to be late ---- */

static locus_clock margin_after(bool may_widen, int times, unsigned begun, bool late,
                                locus_clock lookahead)
{
    struct margin m;
    margin_init(&m, may_widen);
    for (int i = 0; i < times; i++) {
        for (unsigned k = 0; k < begun; k++) m.begun++;
        m.was_late |= late;
        margin_adjust(&m);
    }
    return margin_of(&m, lookahead);
}

TEST(margin, widens_within_bounds_where_some_are_late_and_that_helps)
{
    CHECK_EQ(margin_after(true, 100, 1000, false, 123), 123);
    CHECK_EQ(margin_after(true, 100, 1000, false, INT64_MAX), INT64_MAX);
    CHECK(margin_after(true, 10, 10, true, 100) > 100);
    CHECK_EQ(margin_after(true, 1000, 0, true, 100), 800);
    CHECK_EQ(margin_after(true, 1000, 0, true, INT64_MAX), INT64_MAX / 2);
    CHECK_EQ(margin_after(false, 100, 10, true, 123), 123);
}
