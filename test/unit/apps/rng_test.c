#include "rng.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

TEST(rng, seeds_and_streams_decide_the_numbers)
{
    struct rng a, same, b, c;
    int equal = 0;
    rng_init(&a, 5, 6);
    rng_init(&same, 5, 6);
    rng_init(&b, 6, 5);
    rng_init(&c, 5, 7);
    for (int i = 0; i < 1000; i++) {
        uint64_t x = rng_next(&a), y = rng_next(&b), z = rng_next(&c);
        CHECK_EQ(rng_next(&same), x);
        equal += x == y || y == z || x == z;
    }
    CHECK_EQ(equal, 0);
}

/* The reference sequence of xoshiro256++ for the state 1, 2, 3, 4. */
TEST(rng, is_xoshiro)
{
    static const uint64_t first[] = {41943041, 58720359, 3588806011781223, 3591011842654386};
    struct rng r = {{1, 2, 3, 4}};
    for (int i = 0; i < 4; i++) CHECK_EQ(rng_next(&r), first[i]);
}

/* Each of 100 numbers 10000 times of a million: 7 standard deviations, of a seed that is fixed. */
TEST(rng, below_is_even)
{
    static int counts[100];
    struct rng r;
    rng_init(&r, 1, 1);
    for (int i = 0; i < 1000000; i++) {
        uint64_t x = rng_below(&r, 100);
        CHECK(x < 100);
        counts[x]++;
    }
    for (int i = 0; i < 100; i++) CHECK(abs(counts[i] - 10000) < 700);
    CHECK_EQ(rng_below(&r, 1), 0);
}

TEST(rng, normal_has_mean_0_and_deviation_1)
{
    enum { DRAWS = 100000 };
    struct rng r;
    double sum = 0, squares = 0;
    rng_init(&r, 1, 2);
    for (int i = 0; i < DRAWS; i++) {
        double x = rng_normal(&r);
        sum += x;
        squares += x * x;
    }
    CHECK(fabs(sum / DRAWS) < 0.02 && fabs(squares / DRAWS - 1) < 0.03);
}

TEST(rng, shuffle_keeps_every_number)
{
    enum { N = 1000 };
    uint32_t numbers[N], moved = 0;
    int seen[N] = {0};
    struct rng r;
    rng_init(&r, 3, 0);
    for (uint32_t i = 0; i < N; i++) numbers[i] = i;
    rng_shuffle(&r, numbers, N);
    for (uint32_t i = 0; i < N; i++) {
        CHECK_EQ(seen[numbers[i]]++, 0);
        moved += numbers[i] != i;
    }
    CHECK(moved > 900);
    rng_shuffle(&r, numbers, 0);
}
