/* Which keys are hot, against what NuPS' rule says. */
#include "hot.h"
#include "test.h"

#include <string.h>

enum { KEYS = 1000 };

TEST(hot, rules_are_parsed)
{
    static const struct {
        const char *text;
        uint64_t keys;
        double factor;
    } right[] = {{"auto", 0, 100}, {"17", 17, 0}, {"50x", 0, 50}, {"0.5x", 0, 0.5}};
    static const char *const wrong[] = {"",   "x",    "0",   "-3",  "1.5",
                                        "5y", "50xx", "nan", "inf", "1e50"};
    struct hot_rule r;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        CHECK(hot_parse(&r, right[i].text) && r.keys == right[i].keys &&
              r.factor == right[i].factor);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) CHECK(!hot_parse(&r, wrong[i]));
}

/* Of a mean of 2.398, and then of 2.108. */
TEST(hot, choose_takes_what_occurs_more_often_than_the_mean_times_the_factor)
{
    uint64_t count[KEYS] = {0}, hot[KEYS];
    const struct hot_rule hundred = {.factor = 100};
    for (size_t i = 0; i < KEYS; i++) count[i] = i == 7 ? 500 : i == 900 ? 900 : 1;
    CHECK_EQ(hot_choose(&hundred, count, KEYS, hot), 2);
    CHECK(hot[0] == 7 && hot[1] == 900);
    count[7] = 210;
    CHECK_EQ(hot_choose(&hundred, count, KEYS, hot), 1);
    CHECK_EQ(hot[0], 900);
    memset(count, 0, sizeof count);
    CHECK_EQ(hot_choose(&hundred, count, KEYS, hot), 0);
}

TEST(hot, choose_takes_as_many_as_said)
{
    uint64_t count[KEYS], hot[KEYS];
    for (size_t i = 0; i < KEYS; i++) count[i] = 1 + i * 7919 % 100; /* many are equal */
    for (uint64_t n = 1; n <= KEYS; n += 37) {
        const struct hot_rule r = {.keys = n};
        CHECK_EQ(hot_choose(&r, count, KEYS, hot), n);
        bool is_hot[KEYS] = {0};
        uint64_t least = UINT64_MAX;
        for (size_t i = 0; i < n; i++) {
            CHECK(i == 0 || hot[i] > hot[i - 1]);
            is_hot[hot[i]] = true;
            if (count[hot[i]] < least) least = count[hot[i]];
        }
        for (size_t i = 0; i < KEYS; i++) CHECK(is_hot[i] || count[i] <= least);
    }
    const struct hot_rule all = {.keys = 5 * KEYS};
    CHECK_EQ(hot_choose(&all, count, KEYS, hot), KEYS);
    count[3] = 0; /* what never occurs is not hot */
    CHECK_EQ(hot_choose(&all, count, KEYS, hot), KEYS - 1);
}
