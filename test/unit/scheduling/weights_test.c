#include "scheduling/weights.h"

#include "test.h"

#include <float.h>

/* Splits [0, 1) evenly: each index gets what its weight is of the total, to one draw. */
static void draws_in_proportion(const struct weights *w)
{
    enum { DRAWS = 100000 };
    static uint64_t got[1000];
    for (uint64_t i = 0; i < w->count; i++) got[i] = 0;
    for (int i = 0; i < DRAWS; i++) got[weights_draw(w, (i + 0.5) / DRAWS)]++;
    for (uint64_t i = 0; i < w->count; i++) {
        double expected = DRAWS * weights_get(w, i) / weights_total(w);
        CHECK((double)got[i] > expected - 1.5 && (double)got[i] < expected + 1.5);
        if (weights_get(w, i) <= 0) CHECK_EQ(got[i], 0);
    }
}

static void check_count(uint64_t count)
{
    CLOSED_BY(weights_fini) struct weights w;
    CHECK_EQ(weights_init(&w, count), 0);
    CHECK(weights_total(&w) <= 0);
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        double weight = i % 3 == 1 && count > 2 ? 0 : (double)(i % 7 + 1);
        weights_set(&w, i, weight);
        CHECK(weights_get(&w, i) >= weight && weights_get(&w, i) <= weight);
        sum += weight;
    }
    CHECK(weights_total(&w) > sum * 0.999999 && weights_total(&w) < sum * 1.000001);
    draws_in_proportion(&w);
}

/* Powers of two and their neighbours: the tree's last level is full, or not. */
TEST(weights, indices_are_drawn_in_proportion_whatever_their_number)
{
    static const uint64_t counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) check_count(counts[i]);
}

TEST(weights, the_ends_of_the_interval_are_drawn)
{
    CLOSED_BY(weights_fini) struct weights w;
    CHECK_EQ(weights_init(&w, 10), 0);
    weights_set(&w, 4, 1);
    CHECK_EQ(weights_draw(&w, 0), 4);
    CHECK_EQ(weights_draw(&w, 1 - DBL_EPSILON / 2), 4);
    weights_set(&w, 7, 1e-300); /* lost in the sum */
    for (int i = 0; i <= 1000; i++) {
        uint64_t drawn = weights_draw(&w, i / 1001.0);
        CHECK(drawn == 4 || drawn == 7);
    }
}

/* Large numbers that came and went leave nothing behind. */
TEST(weights, no_error_adds_up)
{
    enum { COUNT = 100 };
    CLOSED_BY(weights_fini) struct weights w;
    CHECK_EQ(weights_init(&w, COUNT), 0);
    for (uint64_t i = 0; i < COUNT; i++) weights_set(&w, i, 1);
    for (int round = 0; round < 1000; round++) {
        weights_set(&w, (uint64_t)round % COUNT, 1e30);
        weights_set(&w, (uint64_t)round % COUNT, 1);
    }
    CHECK(weights_total(&w) >= COUNT && weights_total(&w) <= COUNT);
    for (uint64_t i = 0; i < COUNT; i++) weights_set(&w, i, 0);
    CHECK(weights_total(&w) <= 0);
}
