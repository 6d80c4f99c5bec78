/* The target distribution: independent draws, with and without replacement. */
#include "worker/chi_square.h"
#include "worker/sample_target.h"

#include <float.h>
#include <stdlib.h>

enum { FIRST = 1000, DRAWS = 400000, TABLE_MAX = 1000 };

static struct target weighted(const double *weights, uint64_t count)
{
    struct target t;
    CHECK_EQ(target_init_weighted(&t, FIRST, weights, count), 0);
    return t;
}

/* Draws n keys, all different and in the range. */
static void draw_unique(const struct target *t, struct random *r, locus_key *keys, size_t n)
{
    CLOSED_BY(keyset_fini) struct keyset drawn = {0};
    CHECK_EQ(keyset_begin(&drawn, n), 0);
    CHECK_EQ(target_draw_unique(t, r, &drawn, keys, n), 0);
    CHECK_EQ(keyset_begin(&drawn, n), 0);
    for (size_t i = 0; i < n; i++) {
        CHECK(keys[i] >= t->first && keys[i] < t->first + t->count);
        CHECK(target_is_possible(t, keys[i]));
        CHECK(keyset_add(&drawn, keys[i]));
    }
}

/* The same random numbers, the same keys, however many are asked for at once. */
TEST(target, draw_many_gives_what_single_draws_give)
{
    const double weights[] = {3, 0, 1, 0.5, 7, 0, 2};
    struct target targets[] = {weighted(weights, sizeof weights / sizeof *weights), {0}};
    target_init_uniform(&targets[1], FIRST, 1000);
    for (int i = 0; i < 2; i++) {
        struct random one, many;
        locus_key keys[100];
        random_init(&one, 3, 0, 0);
        random_init(&many, 3, 0, 0);
        for (size_t n = 0; n <= 100; n = 2 * n + 1) {
            target_draw_many(&targets[i], &many, keys, n);
            for (size_t k = 0; k < n; k++) CHECK_EQ(keys[k], target_draw(&targets[i], &one));
        }
        target_fini(&targets[i]);
    }
}

TEST(target, draw_unique_of_all_keys_gives_them_in_any_order)
{
    CLOSED_BY(target_fini) struct target t;
    struct random r;
    locus_key keys[1000];
    target_init_uniform(&t, FIRST, 1000);
    random_init(&r, 1, 0, 0);
    for (int i = 0; i < 20; i++) draw_unique(&t, &r, keys, 1000);
}

TEST(target, draw_unique_leaves_keys_of_weight_zero_out)
{
    double weights[1000] = {0};
    locus_key keys[500];
    struct random r;
    for (int i = 0; i < 500; i++) weights[2 * i] = i == 7 ? 1e9 : 1e-9 * (i + 1);
    CLOSED_BY(target_fini) struct target t = weighted(weights, 1000);
    CHECK_EQ(t.possible, 500);
    random_init(&r, 2, 0, 0);
    for (size_t n = 1; n <= 500; n = n * 2 + 1) draw_unique(&t, &r, keys, n);
    draw_unique(&t, &r, keys, 500);
}

/* Which of the four comes first, second, third, fourth: 24 orders, whose probabilities are products
 * of shares of what is left. */
static double probability_of(const double *weights, const int *order)
{
    double left = 0, p = 1;
    for (int i = 0; i < 4; i++) left += weights[i];
    for (int i = 0; i < 4; i++) {
        p *= weights[order[i]] / left;
        left -= weights[order[i]];
    }
    return p;
}

static int code_of(const int *order)
{
    return order[0] * 64 + order[1] * 16 + order[2] * 4 + order[3];
}

/* The order in which the last four keys of a sample of all keys come; `before` others of great
 * weight precede them, so that they are drawn by the bounded number of draws (none), or found by
 * the pass over all keys. */
static void check_orders(const double *weights, unsigned before, int rounds, uint64_t seed)
{
    double all[8], expected[256] = {0};
    uint64_t got[256] = {0};
    locus_key keys[8];
    struct random r;
    for (unsigned i = 0; i < 4 + before; i++) all[i] = i < 4 ? weights[i] : 1e15;
    CLOSED_BY(target_fini) struct target t = weighted(all, 4 + before);
    random_init(&r, seed, 0, 0);
    for (int i = 0; i < rounds; i++) {
        int order[4];
        draw_unique(&t, &r, keys, 4 + before);
        for (unsigned j = 0; j < before; j++) CHECK(keys[j] >= FIRST + 4);
        for (int j = 0; j < 4; j++) order[j] = (int)(keys[before + (unsigned)j] - FIRST);
        got[code_of(order)]++;
    }
    for (int code = 0; code < 256; code++) {
        const int order[4] = {code >> 6, code >> 4 & 3, code >> 2 & 3, code & 3};
        bool is_order = (1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) == 15;
        if (is_order) expected[code] = rounds * probability_of(weights, order);
    }
    CHECK_COUNTS(got, expected, 256);
}

TEST(target, draw_unique_draws_each_key_as_from_what_is_left)
{
    check_orders((const double[]){1, 2, 3, 4}, 0, 100000, 3);
    check_orders((const double[]){1, 1, 1, 1}, 0, 100000, 4);
}

TEST(target, draw_unique_in_one_pass_has_the_same_distribution)
{
    check_orders((const double[]){1, 2, 3, 4}, 1, 100000, 5);
    check_orders((const double[]){1, 2, 3, 4}, 4, 100000, 6);
}

/* A uniform target whose keys nearly all are needed is completed by the pass, too. */
TEST(target, draw_unique_leaves_each_key_out_equally_often)
{
    enum { KEYS = 40, ROUNDS = 40000 };
    CLOSED_BY(target_fini) struct target t;
    struct random r;
    uint64_t last[KEYS] = {0};
    double expected[KEYS];
    locus_key keys[KEYS];
    target_init_uniform(&t, FIRST, KEYS);
    random_init(&r, 7, 0, 0);
    for (int i = 0; i < ROUNDS; i++) {
        draw_unique(&t, &r, keys, KEYS);
        last[keys[KEYS - 1] - FIRST]++;
    }
    for (int i = 0; i < KEYS; i++) expected[i] = (double)ROUNDS / KEYS;
    CHECK_COUNTS(last, expected, KEYS);
}

TEST(target, range_of_2_to_the_60_costs_no_memory)
{
    CLOSED_BY(target_fini) struct target t;
    struct random r;
    locus_key keys[100];
    target_init_uniform(&t, 5, LOCUS_KEYS_MAX - 5);
    random_init(&r, 8, 0, 0);
    for (int i = 0; i < 1000; i++) draw_unique(&t, &r, keys, 100);
}

/* The table's own probabilities are the weights', up to rounding. */
static void check_table(const double *weights, uint64_t count)
{
    CLOSED_BY(target_fini) struct target t = weighted(weights, count);
    double again[TABLE_MAX], sum = 0, sum_again = 0;
    target_weights(&t, again);
    for (uint64_t i = 0; i < count; i++) {
        sum += weights[i];
        sum_again += again[i];
    }
    for (uint64_t i = 0; i < count; i++) {
        CHECK_EQ(target_is_possible(&t, FIRST + i), weights[i] > 0);
        double p = weights[i] / sum, difference = again[i] / sum_again - p;
        CHECK(difference <= 1e-12 && difference >= -1e-12);
        CHECK(weights[i] > 0 ? again[i] > 0 : again[i] == 0);
    }
}

TEST(target, table_holds_the_weights)
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

TEST(target, greatest_and_smallest_numbers_are_weights)
{
    const double weights[] = {DBL_MAX, DBL_MAX, DBL_TRUE_MIN, DBL_MAX, 0};
    const double expected[] = {DRAWS / 3.0, DRAWS / 3.0, 0, DRAWS / 3.0, 0};
    uint64_t got[5] = {0};
    CLOSED_BY(target_fini) struct target t = weighted(weights, 5);
    struct random r;
    random_init(&r, 5, 0, 0);
    CHECK_EQ(t.possible, 4); /* one of them in theory */
    for (int i = 0; i < DRAWS; i++) got[target_draw(&t, &r) - FIRST]++;
    CHECK_COUNTS(got, expected, 5);
}
