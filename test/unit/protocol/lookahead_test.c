#include "protocol/lookahead.h"

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

/* The least clock whose probability reaches the quantile, but for what rounding may hide. */
static void check_quantile(double mean)
{
    const long double rounding = 1e-11L;
    locus_clock k = lookahead_quantile(mean);
    if (reference_cdf(mean, k) < LOOKAHEAD_QUANTILE - rounding)
        test_fail(__FILE__, __LINE__, "%g: %lld is too low", mean, (long long)k);
    if (reference_cdf(mean, k - 1) >= LOOKAHEAD_QUANTILE + rounding)
        test_fail(__FILE__, __LINE__, "%g: %lld is too high", mean, (long long)k);
}

TEST(lookahead, the_quantile_is_that_of_the_sums)
{
    for (int step = 0; step < 170; step++) check_quantile(0.001 * pow(1.07, step)); /* up to 92 */
    for (int mean = 1; mean <= 100; mean++) check_quantile(mean);
}

TEST(lookahead, no_rate_no_lookahead)
{
    CHECK_EQ(lookahead_quantile(0), 0);
    CHECK_EQ(lookahead_quantile(-1), 0);
    CHECK_EQ(lookahead_quantile(NAN), 0);
}

TEST(lookahead, the_expansion_is_off_by_one_clock_at_most)
{
    for (int step = 0; step < 200; step++) { /* up to 10,000 */
        double mean = 100.001 * pow(1.0233, step);
        locus_clock k = lookahead_quantile(mean);
        CHECK(reference_cdf(mean, k + 1) >= LOOKAHEAD_QUANTILE);
        CHECK(reference_cdf(mean, k - 2) < LOOKAHEAD_QUANTILE);
    }
}

TEST(lookahead, the_quantile_grows_with_the_rate)
{
    locus_clock last = 0;
    for (int step = 0; step < 3200; step++) { /* up to 6.7e11 */
        locus_clock k = lookahead_quantile(0.01 * pow(1.01, step));
        CHECK(k >= last);
        last = k;
    }
    CHECK(last > 100000000000);
}

/* ---- Algorithm 1 ---- */

static void round_of(struct lookahead *t, locus_clock from, locus_clock to)
{
    lookahead_begin(t, from);
    lookahead_end(t, to);
}

/* D = 0: the worker evaluates, or waits at a barrier. Slow rounds later must not find the estimate
 * gone. */
TEST(lookahead, a_pause_leaves_the_estimate_alone)
{
    struct lookahead t;
    lookahead_init(&t);
    round_of(&t, 0, 30);
    double rate = t.rate;
    locus_clock lookahead = t.lookahead;
    for (int i = 0; i < 1000; i++) round_of(&t, 30, 30);
    CHECK(t.rate == rate);
    CHECK_EQ(t.lookahead, lookahead);
}

/* However long, it is one observation. */
TEST(lookahead, a_pause_weighs_as_one_clock)
{
    struct lookahead t;
    lookahead_init(&t);
    for (int i = 0; i < 100000; i++) round_of(&t, 5, 5);
    round_of(&t, 5, 15);
    CHECK(t.rate > 9 && t.rate < 9.001);
}

/* A worker's next life begins at clock 0: the round that was under way says nothing. */
TEST(lookahead, a_clock_that_began_anew_leaves_the_estimate_alone)
{
    struct lookahead t;
    lookahead_init(&t);
    round_of(&t, 5000, 3);
    CHECK(t.rate == 10);
    CHECK_EQ(t.lookahead, 39);
}

TEST(lookahead, follows_a_worker_that_changes_its_pace)
{
    struct lookahead t;
    lookahead_init(&t);
    for (int i = 0; i < 200; i++) round_of(&t, i, i + 1);
    CHECK(t.rate < 1.001);
    CHECK(t.lookahead <= 10);
    for (int i = 0; i < 200; i++) round_of(&t, 0, 500);
    CHECK(t.rate > 499);
    CHECK_EQ(t.lookahead, lookahead_quantile(1000));
}

/* However many rounds a clock takes, what starts with the next one begins before it comes. */
TEST(lookahead, a_lookahead_reaches_the_next_clock)
{
    struct lookahead t;
    locus_clock now = 0;
    lookahead_init(&t);
    for (int clock = 0; clock < 200; clock++) {
        for (int round = 0; round < 1000; round++) {
            lookahead_begin(&t, now);
            now += round == 999;
            lookahead_end(&t, now);
        }
    }
    CHECK_EQ(t.lookahead, 2);
}
