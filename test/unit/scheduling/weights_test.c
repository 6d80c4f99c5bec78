#include "scheduling/schedule.h"

#include "test.h"

#include <float.h>

/* Splits [0, 1) evenly: each index gets what its weight is of the total, to one draw. */
static void check_draws(const struct weights *w)
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

/* Powers of two and their neighbours: the tree's last level is full, or not. */
TEST(weights, draw_is_in_proportion_whatever_the_count)
{
    static const uint64_t counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1000};
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
        CLOSED_BY(weights_fini) struct weights w;
        CHECK_EQ(weights_init(&w, counts[n]), 0);
        for (uint64_t i = 0; i < counts[n]; i++)
            weights_set(&w, i, i % 3 == 1 && counts[n] > 2 ? 0 : (double)(i % 7 + 1));
        check_draws(&w);
    }
}

TEST(weights, draw_of_the_ends_of_the_interval_is_of_some_weight)
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
