/* The alias method: the table says what the weights say. Draws: distribution_test. */
#include "worker/alias.h"
#include "worker/chi_square.h"

#include <float.h>

enum { DRAWS = 400000, TABLE_MAX = 1000 };

static struct alias alias_of(const double *weights, uint64_t count)
{
    struct alias a;
    CHECK_EQ(alias_init(&a, weights, count), 0);
    return a;
}

static uint64_t draw(const struct alias *a, struct random *r)
{
    return alias_index(a, alias_choose(a, r));
}

/* The table's own probabilities are the weights', up to rounding. */
static void check_table(const double *weights, uint64_t count)
{
    CLOSED_BY(alias_fini) struct alias a = alias_of(weights, count);
    double again[TABLE_MAX], sum = 0, sum_again = 0;
    alias_weights(&a, again);
    for (uint64_t i = 0; i < count; i++) {
        sum += weights[i];
        sum_again += again[i];
    }
    for (uint64_t i = 0; i < count; i++) {
        CHECK_EQ(alias_is_possible(&a, i), weights[i] > 0);
        double p = weights[i] / sum, difference = again[i] / sum_again - p;
        CHECK(difference <= 1e-12 && difference >= -1e-12);
        CHECK(weights[i] > 0 ? again[i] > 0 : again[i] == 0);
    }
}

TEST(alias, table_holds_the_weights)
{
    double weights[TABLE_MAX];
    struct random r;
    random_init(&r, 1, 2, 3);
    for (int round = 0; round < 50; round++) {
        uint64_t rest, count = 1 + random_below(&r, TABLE_MAX, &rest);
        for (uint64_t i = 0; i < count; i++)
            weights[i] = random_below(&r, 4, &rest) == 0 ? 0
                                                         : exp(20 * random_exponential(&r) / 10);
        weights[random_below(&r, count, &rest)] = 3;
        check_table(weights, count);
    }
}

TEST(alias, greatest_and_smallest_numbers_are_weights)
{
    const double weights[] = {DBL_MAX, DBL_MAX, DBL_TRUE_MIN, DBL_MAX, 0};
    const double expected[] = {DRAWS / 3.0, DRAWS / 3.0, 0, DRAWS / 3.0, 0};
    uint64_t got[5] = {0};
    CLOSED_BY(alias_fini) struct alias a = alias_of(weights, 5);
    struct random r;
    random_init(&r, 5, 0, 0);
    CHECK_EQ(a.possible, 4); /* one of them in theory */
    for (int i = 0; i < DRAWS; i++) got[draw(&a, &r)]++;
    CHECK_COUNTS(got, expected, 5);
}
