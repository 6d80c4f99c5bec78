/*
 * chi_square.h - are these counts what independent draws with these probabilities give?
 *
 * Pearson's statistic against the value that it exceeds with probability CHI_SQUARE_FALSE_ALARM
 * when they are. Seeds in the tests are fixed, so that a test that passes once passes always; the
 * probability says how little it means that it does not fail by chance.
 */
#ifndef LOCUS_TEST_CHI_SQUARE_H
#define LOCUS_TEST_CHI_SQUARE_H

#include "test.h"

#include <math.h>
#include <stdint.h>

#define CHI_SQUARE_FALSE_ALARM 1e-6
#define CHI_SQUARE_QUANTILE 4.753424 /* of the normal distribution, for that probability */

/* By Wilson and Hilferty (1931): 1% too high at most, from 3 degrees of freedom on. */
static inline double chi_square_bound(double freedom)
{
    double a = 2 / (9 * freedom), b = 1 - a + CHI_SQUARE_QUANTILE * sqrt(a);
    return freedom * b * b * b;
}

/* What `count` cells got, and should get on average: 5 or more each. Cells that should get nothing
 * must have nothing. */
static inline double chi_square(const uint64_t *got, const double *expected, size_t count,
                                double *freedom)
{
    double sum = 0, cells = 0;
    for (size_t i = 0; i < count; i++) {
        if (expected[i] == 0) {
            CHECK_EQ(got[i], 0);
            continue;
        }
        CHECK(expected[i] >= 5);
        double difference = (double)got[i] - expected[i];
        sum += difference * difference / expected[i];
        cells++;
    }
    *freedom = cells - 1;
    return sum;
}

#define CHECK_COUNTS(got, expected, count) check_counts(__FILE__, __LINE__, got, expected, count)
static inline void check_counts(const char *file, int line, const uint64_t *got,
                                const double *expected, size_t count)
{
    double freedom, x = chi_square(got, expected, count, &freedom);
    if (x > chi_square_bound(freedom))
        test_fail(file, line, "chi square is %g with %g degrees of freedom: above %g", x, freedom,
                  chi_square_bound(freedom));
}

#endif
