/* Random numbers: every number below a bound is as likely as the others, and streams have nothing
 * in common. */
#include "worker/chi_square.h"
#include "worker/sample_target.h"

enum { DRAWS = 300000 };

static void check_below(uint64_t bound, unsigned cells, uint64_t seed)
{
    struct random r;
    uint64_t got[64] = {0}, low[16] = {0}, rest;
    double expected[64], expected_low[16];
    random_init(&r, seed, 1, 2);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t x = random_below(&r, bound, &rest);
        CHECK(x < bound);
        got[(unsigned)((double)x / (double)bound * cells)]++;
        low[rest >> 60]++;
    }
    for (unsigned i = 0; i < cells; i++) expected[i] = (double)DRAWS / cells;
    for (int i = 0; i < 16; i++) expected_low[i] = (double)DRAWS / 16;
    CHECK_COUNTS(got, expected, cells);
    CHECK_COUNTS(low, expected_low, 16);
}

TEST(random, below_gives_equally_likely_numbers)
{
    check_below(2, 2, 1);
    check_below(7, 7, 2);
    check_below(64, 64, 3);
    check_below(1000003, 50, 4);
    check_below(UINT64_C(3) << 38, 60, 5);
}

/* Three quarters of the range of 64 bits: without drawing anew, every third number would be twice
 * as likely. */
TEST(random, below_has_no_bias_for_a_bound_that_does_not_divide_the_range)
{
    struct random r;
    uint64_t got[3] = {0}, rest, bound = UINT64_C(3) << 62;
    const double expected[3] = {DRAWS / 3.0, DRAWS / 3.0, DRAWS / 3.0};
    random_init(&r, 6, 0, 0);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t x = random_below(&r, bound, &rest);
        CHECK(x < bound);
        got[x % 3]++;
    }
    CHECK_COUNTS(got, expected, 3);
}

TEST(random, streams_of_another_seed_rank_or_worker_are_independent)
{
    struct random r[4];
    double expected[64];
    random_init(&r[0], 7, 0, 0);
    random_init(&r[1], 8, 0, 0);
    random_init(&r[2], 7, 1, 0);
    random_init(&r[3], 7, 0, 1);
    for (int i = 0; i < 64; i++) expected[i] = DRAWS / 64.0;
    for (int other = 1; other < 4; other++) {
        uint64_t got[64] = {0};
        struct random a = r[0], b = r[other];
        for (int i = 0; i < DRAWS; i++)
            got[(random_next(&a) >> 61) * 8 + (random_next(&b) >> 61)]++;
        CHECK_COUNTS(got, expected, 64);
    }
}
