/* What is drawn from a distribution: how often, and how it depends on what was drawn before; what
 * each conformity level promises. */
#include "chi_square.h"
#include "samples.h"

#include <math.h>
#include <string.h>

/* ---- frequencies ---- */

/* Counts of `draws` independent draws. */
static void check_frequencies(const locus_key *keys, size_t count, unsigned every, bool is_weighted)
{
    uint64_t got[KEYS] = {0};
    double expected[KEYS], sum = 0, draws = (double)count / every;
    for (size_t i = 0; i < count; i++) got[keys[i] - FIRST]++;
    for (int i = 0; i < KEYS; i++) sum += is_weighted ? weight_of(i) : 1;
    for (int i = 0; i < KEYS; i++) {
        expected[i] = draws * (is_weighted ? weight_of(i) : 1) / sum;
        CHECK_EQ(got[i] % every, 0);
        got[i] /= every;
    }
    CHECK_COUNTS(got, expected, KEYS);
}

/* Whole pools have each draw 16 times: as many independent draws remain as there are uses of
 * one. */
static void check_level(enum locus_conformity level, bool is_weighted, size_t n, uint64_t seed)
{
    CLOSED_BY(scene_end) struct scene s = scene();
    bool is_reuse = level == LOCUS_BOUNDED || level == LOCUS_LONG_TERM;
    size_t count = PER_POOL * (is_reuse ? 100 : 25);
    CLOSED_BY(free_at) locus_key *keys = keys_of(count);
    locus_distribution *d = is_weighted ? weighted(s.node, level, 0) : uniform(s.node, level, 0);
    CHECK_EQ(locus_distribution_seed(d, seed), 0);
    sample_keys(s.worker, d, n, keys, count);
    check_frequencies(keys, count, is_reuse ? USES : 1, is_weighted);
    locus_distribution_free(d);
}

TEST(sampling_distribution, frequencies_are_those_of_the_distribution_at_every_level)
{
    static const size_t n[4][2] = {{64, 64}, {64, 7}, {5000, 64}, {64, 64}};
    for (unsigned l = 0; l < 4; l++)
        for (unsigned is_weighted = 0; is_weighted < 2; is_weighted++)
            check_level(levels[l], is_weighted, n[l][is_weighted], 1 + 2 * l + is_weighted);
}

/* Without replacement and with equal weights, keys are equally likely in every sample. */
static void check_unique_level(enum locus_conformity level, size_t n, uint64_t seed)
{
    enum { SAMPLES = 2000 };
    CLOSED_BY(scene_end) struct scene s = scene();
    locus_distribution *d = uniform(s.node, level, LOCUS_WITHOUT_REPLACEMENT);
    locus_key keys[KEYS];
    uint64_t got[KEYS] = {0};
    double expected[KEYS];
    CHECK_EQ(locus_distribution_seed(d, seed), 0);
    for (int round = 0; round < SAMPLES; round++) {
        bool is_in[KEYS] = {false};
        sample_keys(s.worker, d, n, keys, n);
        for (size_t i = 0; i < n; i++) {
            CHECK(!is_in[keys[i] - FIRST]);
            is_in[keys[i] - FIRST] = true;
            got[keys[i] - FIRST]++;
        }
    }
    bool is_reuse = level == LOCUS_BOUNDED || level == LOCUS_LONG_TERM;
    /* Keys of a sample exclude each other, which only evens counts out; uses of one draw add up. */
    for (int i = 0; i < KEYS; i++) {
        expected[i] = (double)n * SAMPLES / KEYS / (is_reuse ? USES : 1);
        got[i] /= is_reuse ? USES : 1;
    }
    CHECK_COUNTS(got, expected, KEYS);
    locus_distribution_free(d);
}

TEST(sampling_distribution, without_replacement_keys_are_unique_and_equally_likely)
{
    for (int l = 0; l < 4; l++) {
        check_unique_level(levels[l], 10, 20 + (unsigned)l);
        check_unique_level(levels[l], 64, 30 + (unsigned)l);
    }
}

TEST(sampling_distribution, without_replacement_a_sample_may_have_every_possible_key)
{
    CLOSED_BY(scene_end) struct scene s = scene();
    locus_key keys[KEYS];
    for (int l = 0; l < 4; l++) {
        locus_distribution *d = weighted(s.node, levels[l], LOCUS_WITHOUT_REPLACEMENT);
        for (int round = 0; round < 20; round++) {
            bool is_in[KEYS] = {false};
            locus_sample sample = prepared(s.worker, d, 90);
            pull(s.worker, sample, 40, keys);
            pull(s.worker, sample, 50, keys + 40);
            for (int i = 0; i < 90; i++) {
                CHECK(!is_in[keys[i] - FIRST] && weight_of((int)(keys[i] - FIRST)) > 0);
                is_in[keys[i] - FIRST] = true;
            }
            CHECK_EQ(locus_finish_sample(s.worker, sample), 0);
        }
        locus_distribution_free(d);
    }
}

/* ---- dependence ---- */

/* Are the pairs a[i], b[i] of independent keys? Keys are put into CLASSES classes. */
enum { CLASSES = 4 };
static void check_independence(const locus_key *a, const locus_key *b, size_t count)
{
    uint64_t pairs[CLASSES * CLASSES] = {0};
    double expected[CLASSES * CLASSES];
    for (size_t i = 0; i < count; i++) pairs[a[i] % CLASSES * CLASSES + b[i] % CLASSES]++;
    for (int i = 0; i < CLASSES * CLASSES; i++) expected[i] = (double)count / (CLASSES * CLASSES);
    CHECK_COUNTS(pairs, expected, CLASSES * CLASSES);
}

static locus_key *long_sequence(enum locus_conformity level, uint64_t seed, size_t count)
{
    struct scene s = scene();
    locus_key *keys = keys_of(count);
    locus_distribution *d = uniform(s.node, level, 0);
    CHECK_EQ(locus_distribution_seed(d, seed), 0);
    sample_keys(s.worker, d, 60, keys, count);
    locus_distribution_free(d);
    scene_end(&s);
    return keys;
}

TEST(sampling_distribution, conform_samples_are_independent_of_the_ones_before)
{
    enum { COUNT = 200000 };
    CLOSED_BY(free_at) locus_key *keys = long_sequence(LOCUS_CONFORM, 40, COUNT);
    for (size_t distance = 1; distance < 5000; distance = distance * 3 + 1)
        check_independence(keys, keys + distance, COUNT - distance);
}

/* NuPS, Section 4.4: pools of 250 independent draws, gone through 16 times. A pool begins at each
 * multiple of 4000. */
static void check_traversals(const locus_key *pool)
{
    unsigned first[KEYS] = {0};
    for (int i = 0; i < POOL; i++) first[pool[i] - FIRST]++;
    for (int use = 1; use < USES; use++) {
        unsigned again[KEYS] = {0};
        for (int i = 0; i < POOL; i++) again[pool[use * POOL + i] - FIRST]++;
        CHECK(memcmp(first, again, sizeof first) == 0);
        CHECK(memcmp(pool, pool + use * POOL, POOL * sizeof *pool) != 0);
    }
}

/* The dependency bound of 250 * 16 (Section 4.1, BOUNDED): keys of one traversal are independent
 * draws, and pools are independent of each other, and so each key of all that lie more than 4000
 * before it. Within the bound there must be dependence, or the test could not see any. */
TEST(sampling_distribution, bounded_samples_depend_on_fewer_than_4000_before_them)
{
    enum { POOLS = 150 };
    size_t count = (size_t)POOLS * PER_POOL;
    CLOSED_BY(free_at) locus_key *keys = long_sequence(LOCUS_BOUNDED, 41, count);
    for (size_t i = 0; i < count; i += PER_POOL) check_traversals(keys + i);
    for (size_t i = 0; i + PER_POOL < count; i += PER_POOL)
        CHECK(memcmp(keys + i, keys + i + PER_POOL, PER_POOL * sizeof *keys) != 0);
    for (size_t use = 0; use < USES; use++) {
        /* One traversal of each pool, side by side, against the same of the next pool. */
        locus_key *side = keys_of((size_t)POOLS * POOL);
        for (size_t p = 0; p < POOLS; p++)
            memcpy(side + p * POOL, keys + p * PER_POOL + use * POOL, POOL * sizeof *keys);
        check_independence(side, side + 1, (size_t)POOLS * POOL - 1);
        check_independence(side, side + POOL, (size_t)(POOLS - 1) * POOL);
        free(side);
    }
}

/* A place has the same key in two traversals of a pool when it has the same one of the 250 draws,
 * or two draws that are equal. */
TEST(sampling_distribution, orders_of_a_pool_differ_from_traversal_to_traversal)
{
    enum { POOLS = 150 };
    size_t count = (size_t)POOLS * PER_POOL, same = 0, pairs = 0;
    CLOSED_BY(free_at) locus_key *keys = long_sequence(LOCUS_BOUNDED, 42, count);
    for (size_t i = 0; i < count; i += PER_POOL)
        for (size_t use = 1; use < USES; use++)
            for (size_t j = 0; j < POOL; j++, pairs++)
                same += keys[i + j] == keys[i + use * POOL + j];
    double p = 1.0 / POOL + (1 - 1.0 / POOL) / KEYS, mean = (double)pairs * p;
    /* Comparisons with one first traversal have it in common: 15 times the variance at most. Five
     * standard deviations of the normal distribution: false alarm below 1e-6. */
    CHECK(fabs((double)same - mean) < 5 * sqrt(15 * mean));
}

TEST(sampling_distribution, workers_draw_independently_of_each_other)
{
    enum { COUNT = PER_POOL * 20 };
    for (int l = 0; l < 2; l++) {
        locus *n = one_node(ROWS, LENGTH, 2);
        locus_worker *a = worker_of(n), *b = worker_of(n);
        locus_distribution *d = uniform(n, levels[l], 0);
        locus_key *x = keys_of(COUNT), *y = keys_of(COUNT);
        set_rows(a);
        sample_keys(a, d, 100, x, COUNT);
        sample_keys(b, d, 100, y, COUNT);
        /* Reused draws count once: the first traversal of each pool. */
        for (size_t pool = 0; pool < COUNT / PER_POOL; pool++) {
            memmove(x + pool * POOL, x + pool * PER_POOL, POOL * sizeof *x);
            memmove(y + pool * POOL, y + pool * PER_POOL, POOL * sizeof *y);
        }
        check_independence(x, y, COUNT / USES);
        locus_distribution_free(d);
        free(x);
        free(y);
        CHECK_EQ(locus_worker_close(a), 0);
        close_both(n, b);
    }
}

TEST(sampling_distribution, the_seed_decides_what_is_drawn)
{
    enum { COUNT = 5000 };
    CLOSED_BY(scene_end) struct scene s = scene();
    for (int l = 0; l < 4; l++) {
        locus_distribution *d[3];
        locus_key *keys[3];
        for (int i = 0; i < 3; i++) {
            d[i] = uniform(s.node, levels[l], 0);
            keys[i] = keys_of(COUNT);
            CHECK_EQ(locus_distribution_seed(d[i], i == 2 ? 8 : 7), 0);
            sample_keys(s.worker, d[i], 50, keys[i], COUNT);
            CHECK_EQ(locus_distribution_seed(d[i], 7), -EBUSY);
            CHECK_STR(locus_error(), "seed it before");
        }
        CHECK(memcmp(keys[0], keys[1], COUNT * sizeof **keys) == 0);
        CHECK(memcmp(keys[0], keys[2], COUNT * sizeof **keys) != 0);
        for (int i = 0; i < 3; i++) {
            locus_distribution_free(d[i]);
            free(keys[i]);
        }
    }
}

TEST(sampling_distribution, without_a_seed_two_distributions_differ_and_two_runs_do_not)
{
    enum { COUNT = 100 };
    locus_key keys[2][2][COUNT];
    for (int run = 0; run < 2; run++) {
        struct scene s = scene();
        locus_distribution *a = uniform(s.node, LOCUS_CONFORM, 0),
                           *b = uniform(s.node, LOCUS_CONFORM, 0);
        sample_keys(s.worker, a, 10, keys[run][0], COUNT);
        sample_keys(s.worker, b, 10, keys[run][1], COUNT);
        locus_distribution_free(a);
        locus_distribution_free(b);
        scene_end(&s);
    }
    CHECK(memcmp(keys[0], keys[1], sizeof keys[0]) == 0);
    CHECK(memcmp(keys[0][0], keys[0][1], sizeof keys[0][0]) != 0);
}
