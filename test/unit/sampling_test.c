/* Sampling as programs see it: distributions, samples, and what each conformity level promises. */
#include "one_node.h"
#include "sampling/chi_square.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum {
    FIRST = 20,
    KEYS = 100,
    ROWS = 200,
    LENGTH = 3,
    POOL = 250,
    USES = 16,
    PER_POOL = POOL * USES
};
static const enum locus_conformity levels[] = {LOCUS_CONFORM, LOCUS_BOUNDED, LOCUS_LONG_TERM,
                                               LOCUS_NON_CONFORM};

/* Zipf, the heaviest key in the middle; every tenth key never. */
static double weight_of(int i)
{
    return i % 10 == 3 ? 0 : 1.0 / (1 + (i + KEYS / 2) % KEYS);
}

static const double *zipf(void)
{
    static double weights[KEYS];
    for (int i = 0; i < KEYS; i++) weights[i] = weight_of(i);
    return weights;
}

static locus_distribution *uniform(locus *n, enum locus_conformity level, unsigned flags)
{
    locus_distribution *d;
    CHECK_EQ(locus_distribution_uniform(n, FIRST, KEYS, level, flags, &d), 0);
    CHECK(d != NULL);
    return d;
}

static locus_distribution *weighted(locus *n, enum locus_conformity level, unsigned flags)
{
    locus_distribution *d;
    CHECK_EQ(locus_distribution_weighted(n, FIRST, zipf(), KEYS, level, flags, &d), 0);
    CHECK(d != NULL);
    return d;
}

static locus_sample prepared(locus_worker *w, locus_distribution *d, size_t n)
{
    locus_sample s;
    locus_clock now = locus_current_clock(w);
    CHECK_EQ(locus_prepare_sample(w, d, n, now, now + 1, &s), 0);
    return s;
}

/* Rows that say which key they belong to. */
static void set_rows(locus_worker *w)
{
    for (locus_key key = 0; key < ROWS; key++) {
        const float row[LENGTH] = {(float)key, (float)key * 2, -(float)key};
        CHECK_EQ(locus_set(w, &key, 1, row), 0);
    }
}

static void check_rows(const locus_key *keys, size_t n, const float *values)
{
    for (size_t i = 0; i < n; i++) {
        CHECK(keys[i] >= FIRST && keys[i] < FIRST + KEYS);
        CHECK(values[i * LENGTH] == (float)keys[i] && values[i * LENGTH + 1] == (float)keys[i] * 2);
        CHECK(values[i * LENGTH + 2] == -(float)keys[i]);
    }
}

static void pull(locus_worker *w, locus_sample s, size_t n, locus_key *keys)
{
    float *values = floats_of(n * LENGTH);
    CHECK_EQ(locus_pull_sample(w, s, n, keys, values), 0);
    check_rows(keys, n, values);
    free(values);
}

/* `count` keys in samples of n. */
static void sample_keys(locus_worker *w, locus_distribution *d, size_t n, locus_key *keys,
                        size_t count)
{
    for (size_t i = 0; i < count; i += n) {
        size_t now = count - i < n ? count - i : n;
        locus_sample s = prepared(w, d, now);
        pull(w, s, now, keys + i);
        CHECK_EQ(locus_finish_sample(w, s), 0);
        locus_advance_clock(w);
    }
}

static locus_key *keys_of(size_t n)
{
    locus_key *keys = calloc(n, sizeof *keys);
    CHECK(keys != NULL);
    return keys;
}

struct scene {
    locus *node;
    locus_worker *worker;
};

static struct scene scene(void)
{
    struct scene s;
    s.node = one_node(ROWS, LENGTH, 1);
    s.worker = worker_of(s.node);
    set_rows(s.worker);
    return s;
}

/* ---- what is refused ---- */

static void range_is_refused(locus *n, locus_key first, uint64_t count, const char *part)
{
    static const double weights[ROWS] = {1, 1, 1};
    locus_distribution *d = (locus_distribution *)(void *)n; /* anything but NULL */
    CHECK_EQ(locus_distribution_uniform(n, first, count, LOCUS_CONFORM, 0, &d), -EINVAL);
    CHECK(d == NULL);
    CHECK_STR(locus_error(), part);
    CHECK_EQ(locus_distribution_weighted(n, first, weights, count, LOCUS_CONFORM, 0, &d), -EINVAL);
    CHECK(d == NULL);
    CHECK_STR(locus_error(), part);
}

TEST(sampling, a_range_must_have_a_key_and_lie_within_the_key_space)
{
    locus *n = one_node(ROWS, LENGTH, 1);
    range_is_refused(n, 0, 0, "count");
    range_is_refused(n, ROWS, 1, "valid keys are 0 to 199");
    range_is_refused(n, 0, ROWS + 1, "201 keys from key 0");
    range_is_refused(n, ROWS - 1, 2, "out of range");
    range_is_refused(n, 1, UINT64_MAX, "out of range");
    range_is_refused(n, UINT64_MAX, 2, "out of range");
    CHECK_EQ(locus_close(n), 0);
}

TEST(sampling, rows_of_a_distribution_have_one_length)
{
    const struct locus_table tables[] = {{.name = "a", .rows = 10, .length = 4},
                                         {.name = "b", .rows = 10, .length = 4},
                                         {.name = "c", .rows = 10, .length = 5}};
    locus *n = node_of(tables, 3, 1, 1);
    locus_distribution *d;
    range_is_refused(n, 0, 30, "table a have 4 floats, those of c 5");
    range_is_refused(n, 19, 2, "register a distribution for each length");
    CHECK_EQ(locus_distribution_uniform(n, 0, 20, LOCUS_CONFORM, 0, &d), 0);
    locus_distribution_free(d);
    CHECK_EQ(locus_distribution_uniform(n, 20, 10, LOCUS_CONFORM, 0, &d), 0);
    locus_distribution_free(d);
    CHECK_EQ(locus_close(n), 0);
}

static void weights_are_refused(locus *n, const double *weights, const char *part)
{
    locus_distribution *d = (locus_distribution *)(void *)n;
    CHECK_EQ(locus_distribution_weighted(n, FIRST, weights, 3, LOCUS_BOUNDED, 0, &d), -EINVAL);
    CHECK(d == NULL);
    CHECK_STR(locus_error(), part);
}

TEST(sampling, weights_must_be_finite_and_not_negative_and_one_above_zero)
{
    locus *n = one_node(ROWS, LENGTH, 1);
    weights_are_refused(n, (const double[]){1, -0.5, 1}, "weight 1, of key 21, is -0.5");
    weights_are_refused(n, (const double[]){1, 2, NAN}, "weight 2, of key 22, is");
    weights_are_refused(n, (const double[]){INFINITY, 2, 1}, "weight 0, of key 20, is inf");
    weights_are_refused(n, (const double[]){0, 0, 0}, "all 3 weights are 0");
    weights_are_refused(n, NULL, "`weights` is NULL");
    CHECK_EQ(locus_close(n), 0);
}

TEST(sampling, levels_and_flags_must_be_known)
{
    locus *n = one_node(ROWS, LENGTH, 1);
    locus_distribution *d;
    CHECK_EQ(
        locus_distribution_uniform(n, 0, 1, (enum locus_conformity)(LOCUS_NON_CONFORM + 1), 0, &d),
        -EINVAL);
    CHECK_STR(locus_error(), "conformity is 4");
    CHECK_EQ(locus_distribution_uniform(n, 0, 1, (enum locus_conformity) - 1, 0, &d), -EINVAL);
    CHECK_EQ(locus_distribution_uniform(n, 0, 1, LOCUS_CONFORM, 2, &d), -EINVAL);
    CHECK_STR(locus_error(), "0x2");
    CHECK_EQ(locus_distribution_uniform(NULL, 0, 1, LOCUS_CONFORM, 0, &d), -EINVAL);
    CHECK_EQ(locus_distribution_uniform(n, 0, 1, LOCUS_CONFORM, 0, NULL), -EINVAL);
    CHECK_EQ(locus_distribution_weighted(NULL, 0, zipf(), 1, LOCUS_CONFORM, 0, &d), -EINVAL);
    CHECK_EQ(locus_distribution_weighted(n, 0, zipf(), 1, LOCUS_CONFORM, 0, NULL), -EINVAL);
    locus_distribution_free(NULL);
    CHECK_EQ(locus_distribution_seed(NULL, 1), -EINVAL);
    CHECK_EQ(locus_close(n), 0);
}

static void preparing_is_refused(locus_worker *w, locus_distribution *d, size_t n,
                                 locus_clock start, locus_clock end, const char *part)
{
    locus_loader *l;
    locus_sample s = 99;
    CHECK_EQ(locus_loader_open(w, &l), 0);
    CHECK_EQ(locus_prepare_sample(w, d, n, start, end, &s), -EINVAL);
    CHECK_EQ(s, 0);
    CHECK_STR(locus_error(), part);
    s = 99;
    CHECK_EQ(locus_loader_prepare_sample(l, d, n, start, end, &s), -EINVAL);
    CHECK_EQ(s, 0);
    CHECK_STR(locus_error(), part);
    CHECK_EQ(locus_loader_close(l), 0);
}

TEST(sampling, a_sample_that_cannot_be_is_refused)
{
    struct scene s = scene();
    locus *other = one_node(ROWS, LENGTH, 1);
    locus_distribution *d = uniform(s.node, LOCUS_BOUNDED, 0),
                       *theirs = uniform(other, LOCUS_BOUNDED, 0);
    locus_distribution *all = weighted(s.node, LOCUS_CONFORM, LOCUS_WITHOUT_REPLACEMENT);
    locus_sample sample;
    preparing_is_refused(s.worker, NULL, 1, 0, 1, "distribution is NULL");
    preparing_is_refused(s.worker, d, 1, 5, 5, "ends at clock 5");
    preparing_is_refused(s.worker, d, 1, 5, 4, "not after its start at 5");
    preparing_is_refused(s.worker, d, (size_t)LOCUS_SAMPLE_KEYS_MAX + 1, 0, 1, "16777217");
    preparing_is_refused(s.worker, theirs, 1, 0, 1, "another node's");
    preparing_is_refused(s.worker, all, 91, 0, 1, "only 90 keys");
    CHECK_EQ(locus_prepare_sample(s.worker, d, 1, 0, 1, NULL), -EINVAL);
    CHECK_EQ(locus_prepare_sample(NULL, d, 1, 0, 1, &sample), -EINVAL);
    CHECK_EQ(locus_loader_prepare_sample(NULL, d, 1, 0, 1, &sample), -EINVAL);
    locus_distribution_free(d);
    locus_distribution_free(theirs);
    locus_distribution_free(all);
    CHECK_EQ(locus_close(other), 0);
    close_both(s.node, s.worker);
}

TEST(sampling, a_sample_of_no_keys_is_no_work)
{
    struct scene s = scene();
    locus_distribution *d = uniform(s.node, LOCUS_CONFORM, 0);
    locus_sample sample = 99;
    CHECK_EQ(locus_prepare_sample(s.worker, d, 0, 0, 1, &sample), 0);
    CHECK_EQ(sample, 0);
    CHECK_EQ(locus_pull_sample(s.worker, sample, 0, NULL, NULL), 0);
    CHECK_EQ(locus_finish_sample(s.worker, sample), 0);
    locus_distribution_free(d);
    close_both(s.node, s.worker);
}

/* ---- pulling and finishing ---- */

TEST(sampling, a_sample_is_pulled_in_portions_or_whole)
{
    struct scene s = scene();
    for (int l = 0; l < 4; l++) {
        locus_distribution *a = weighted(s.node, levels[l], 0), *b = weighted(s.node, levels[l], 0);
        locus_key whole[100], portions[100];
        CHECK_EQ(locus_distribution_seed(a, 5), 0);
        CHECK_EQ(locus_distribution_seed(b, 5), 0);
        for (int round = 0; round < 50; round++) {
            locus_sample x = prepared(s.worker, a, 100), y = prepared(s.worker, b, 100);
            pull(s.worker, x, 100, whole);
            for (size_t i = 0, n = 1; i < 100; i += n, n = i + 2 * n < 100 ? 2 * n : 100 - i)
                pull(s.worker, y, n, portions + i);
            CHECK(memcmp(whole, portions, sizeof whole) == 0);
            CHECK_EQ(locus_finish_sample(s.worker, x), 0);
            CHECK_EQ(locus_finish_sample(s.worker, y), 0);
        }
        locus_distribution_free(a);
        locus_distribution_free(b);
    }
    close_both(s.node, s.worker);
}

TEST(sampling, keys_alone_are_those_that_would_have_come_with_values)
{
    struct scene s = scene();
    for (int l = 0; l < 4; l++) {
        locus_distribution *a = weighted(s.node, levels[l], 0), *b = weighted(s.node, levels[l], 0);
        locus_key with[100], alone[100];
        CHECK_EQ(locus_distribution_seed(a, 6), 0);
        CHECK_EQ(locus_distribution_seed(b, 6), 0);
        locus_sample x = prepared(s.worker, a, 100), y = prepared(s.worker, b, 100);
        pull(s.worker, x, 100, with);
        CHECK_EQ(locus_pull_sample(s.worker, y, 30, alone, NULL), 0);
        CHECK_EQ(locus_pull_sample(s.worker, y, 70, alone + 30, NULL), 0);
        CHECK(memcmp(with, alone, sizeof with) == 0);
        CHECK_EQ(locus_pull_sample(s.worker, y, 1, alone, NULL), -EINVAL);
        CHECK_EQ(locus_finish_sample(s.worker, x), 0);
        CHECK_EQ(locus_finish_sample(s.worker, y), 0);
        locus_distribution_free(a);
        locus_distribution_free(b);
    }
    close_both(s.node, s.worker);
}

TEST(sampling, asking_for_more_than_is_left_changes_nothing)
{
    struct scene s = scene();
    locus_key keys[20];
    float values[20 * LENGTH];
    for (int l = 0; l < 4; l++) {
        locus_distribution *d = uniform(s.node, levels[l], LOCUS_WITHOUT_REPLACEMENT);
        locus_sample sample = prepared(s.worker, d, 10);
        pull(s.worker, sample, 7, keys);
        CHECK_EQ(locus_pull_sample(s.worker, sample, 4, keys, values), -EINVAL);
        CHECK_STR(locus_error(), "asks for 4 keys, but 3 of the sample's 10 are left");
        CHECK_EQ(locus_pull_sample(s.worker, sample, 3, NULL, values), -EINVAL);
        CHECK_STR(locus_error(), "`keys` is NULL");
        pull(s.worker, sample, 3, keys);
        CHECK_EQ(locus_pull_sample(s.worker, sample, 1, keys, values), -EINVAL);
        CHECK_EQ(locus_finish_sample(s.worker, sample), 0);
        locus_distribution_free(d);
    }
    close_both(s.node, s.worker);
}

static void is_not_open(locus_worker *w, locus_sample sample)
{
    locus_key key;
    float row[LENGTH];
    CHECK_EQ(locus_pull_sample(w, sample, 1, &key, row), -EINVAL);
    CHECK_STR(locus_error(), "is not open");
    CHECK_EQ(sample == 0 ? -EINVAL : locus_finish_sample(w, sample), -EINVAL);
}

TEST(sampling, a_sample_that_was_finished_or_never_prepared_is_refused)
{
    struct scene s = scene();
    locus_distribution *d = uniform(s.node, LOCUS_BOUNDED, 0);
    locus_key key;
    for (locus_sample i = 0; i < 100000; i += 997) is_not_open(s.worker, i);
    is_not_open(s.worker, UINT64_MAX);
    locus_sample a = prepared(s.worker, d, 1), b = prepared(s.worker, d, 1);
    CHECK(a != b && a != 0 && b != 0);
    CHECK_EQ(locus_finish_sample(s.worker, a), 0);
    is_not_open(s.worker, a);
    locus_sample c = prepared(s.worker, d, 1); /* in the place of a */
    is_not_open(s.worker, a);
    pull(s.worker, b, 1, &key);
    pull(s.worker, c, 1, &key);
    CHECK_EQ(locus_finish_sample(s.worker, b), 0);
    CHECK_EQ(locus_finish_sample(s.worker, c), 0);
    is_not_open(s.worker, c);
    CHECK_EQ(locus_finish_sample(NULL, a), -EINVAL);
    CHECK_EQ(locus_pull_sample(NULL, a, 1, &key, NULL), -EINVAL);
    locus_distribution_free(d);
    close_both(s.node, s.worker);
}

TEST(sampling, a_worker_may_have_4096_samples_open)
{
    static locus_sample sample[LOCUS_SAMPLES_MAX];
    struct scene s = scene();
    locus_distribution *d = uniform(s.node, LOCUS_CONFORM, 0);
    locus_sample more = 99;
    locus_key key;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < LOCUS_SAMPLES_MAX; i++) sample[i] = prepared(s.worker, d, 2);
        CHECK_EQ(locus_prepare_sample(s.worker, d, 1, 0, 1, &more), -ENOBUFS);
        CHECK_EQ(more, 0);
        CHECK_STR(locus_error(), "4096 samples open: finish some");
        pull(s.worker, sample[17], 1, &key);
        CHECK_EQ(locus_finish_sample(s.worker, sample[17]), 0);
        sample[17] = prepared(s.worker, d, 1);
        for (int i = 0; i < LOCUS_SAMPLES_MAX; i++)
            CHECK_EQ(locus_finish_sample(s.worker, sample[i]), 0);
    }
    locus_distribution_free(d);
    close_both(s.node, s.worker);
}

TEST(sampling, samples_end_with_their_worker)
{
    struct scene s = scene();
    locus_distribution *d = weighted(s.node, LOCUS_BOUNDED, LOCUS_WITHOUT_REPLACEMENT);
    locus_key keys[50];
    locus_sample old[100];
    for (int i = 0; i < 100; i++) old[i] = prepared(s.worker, d, 50);
    pull(s.worker, old[3], 20, keys);
    CHECK_EQ(locus_finish_sample(s.worker, old[5]), 0);
    CHECK_EQ(locus_worker_close(s.worker), 0);
    s.worker = worker_of(s.node);
    for (int i = 0; i < 100; i++) is_not_open(s.worker, old[i]);
    locus_sample fresh = prepared(s.worker, d, 50);
    for (int i = 0; i < 100; i++) CHECK(old[i] != fresh);
    pull(s.worker, fresh, 50, keys);
    locus_distribution_free(d); /* with a sample open: no more of it is pulled */
    CHECK_EQ(locus_finish_sample(s.worker, fresh), 0);
    close_both(s.node, s.worker);
}

TEST(sampling, a_large_sample)
{
    enum { LARGE = 100000 };
    struct scene s = scene();
    locus_key *keys = keys_of(LARGE);
    for (int l = 0; l < 4; l++) {
        locus_distribution *d = weighted(s.node, levels[l], 0);
        sample_keys(s.worker, d, LARGE, keys, LARGE);
        locus_distribution_free(d);
    }
    free(keys);
    close_both(s.node, s.worker);
}

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
    struct scene s = scene();
    bool is_reuse = level == LOCUS_BOUNDED || level == LOCUS_LONG_TERM;
    size_t count = PER_POOL * (is_reuse ? 100 : 25);
    locus_key *keys = keys_of(count);
    locus_distribution *d = is_weighted ? weighted(s.node, level, 0) : uniform(s.node, level, 0);
    CHECK_EQ(locus_distribution_seed(d, seed), 0);
    sample_keys(s.worker, d, n, keys, count);
    check_frequencies(keys, count, is_reuse ? USES : 1, is_weighted);
    locus_distribution_free(d);
    free(keys);
    close_both(s.node, s.worker);
}

TEST(sampling, conform_samples_have_the_frequencies_of_the_distribution)
{
    check_level(LOCUS_CONFORM, false, 64, 1);
    check_level(LOCUS_CONFORM, true, 64, 2);
}

TEST(sampling, bounded_samples_have_the_frequencies_of_the_distribution)
{
    check_level(LOCUS_BOUNDED, false, 64, 3);
    check_level(LOCUS_BOUNDED, true, 7, 4);
}

TEST(sampling, long_term_samples_have_the_frequencies_of_the_distribution)
{
    check_level(LOCUS_LONG_TERM, false, 5000, 5);
    check_level(LOCUS_LONG_TERM, true, 64, 6);
}

TEST(sampling, non_conform_samples_of_a_cluster_of_one_have_the_frequencies_of_the_distribution)
{
    check_level(LOCUS_NON_CONFORM, false, 64, 7);
    check_level(LOCUS_NON_CONFORM, true, 64, 8);
}

/* Without replacement and with equal weights, keys are equally likely in every sample. */
static void check_unique_level(enum locus_conformity level, size_t n, uint64_t seed)
{
    enum { SAMPLES = 2000 };
    struct scene s = scene();
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
    close_both(s.node, s.worker);
}

TEST(sampling, without_replacement_no_key_is_twice_in_a_sample_and_all_are_equally_likely)
{
    for (int l = 0; l < 4; l++) {
        check_unique_level(levels[l], 10, 20 + (unsigned)l);
        check_unique_level(levels[l], 64, 30 + (unsigned)l);
    }
}

TEST(sampling, without_replacement_a_sample_may_have_every_key_that_is_possible)
{
    struct scene s = scene();
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
    close_both(s.node, s.worker);
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
    close_both(s.node, s.worker);
    return keys;
}

TEST(sampling, conform_samples_are_independent_of_the_ones_before)
{
    enum { COUNT = 200000 };
    locus_key *keys = long_sequence(LOCUS_CONFORM, 40, COUNT);
    for (size_t distance = 1; distance < 5000; distance = distance * 3 + 1)
        check_independence(keys, keys + distance, COUNT - distance);
    free(keys);
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
TEST(sampling, bounded_samples_depend_on_fewer_than_4000_before_them)
{
    enum { POOLS = 150 };
    size_t count = (size_t)POOLS * PER_POOL;
    locus_key *keys = long_sequence(LOCUS_BOUNDED, 41, count);
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
    free(keys);
}

/* A place has the same key in two traversals of a pool when it has the same one of the 250 draws,
 * or two draws that are equal. */
TEST(sampling, orders_of_a_pool_differ_from_traversal_to_traversal)
{
    enum { POOLS = 150 };
    size_t count = (size_t)POOLS * PER_POOL, same = 0, pairs = 0;
    locus_key *keys = long_sequence(LOCUS_BOUNDED, 42, count);
    for (size_t i = 0; i < count; i += PER_POOL)
        for (size_t use = 1; use < USES; use++)
            for (size_t j = 0; j < POOL; j++, pairs++)
                same += keys[i + j] == keys[i + use * POOL + j];
    double p = 1.0 / POOL + (1 - 1.0 / POOL) / KEYS, mean = (double)pairs * p;
    /* Comparisons with one first traversal have it in common: 15 times the variance at most. Five
     * standard deviations of the normal distribution: false alarm below 1e-6. */
    CHECK(fabs((double)same - mean) < 5 * sqrt(15 * mean));
    free(keys);
}

TEST(sampling, workers_draw_independently_of_each_other)
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

TEST(sampling, the_seed_decides_what_is_drawn)
{
    enum { COUNT = 5000 };
    struct scene s = scene();
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
    close_both(s.node, s.worker);
}

TEST(sampling, without_a_seed_two_distributions_differ_and_two_runs_do_not)
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
        close_both(s.node, s.worker);
    }
    CHECK(memcmp(keys[0], keys[1], sizeof keys[0]) == 0);
    CHECK(memcmp(keys[0][0], keys[0][1], sizeof keys[0][0]) != 0);
}

/* ---- intent ---- */

/* Keys for which intent was signaled, a sampled key. Clocks advance with every sample. */
static double intents_per_key(enum locus_conformity level, size_t n, locus_clock ahead)
{
    enum { COUNT = PER_POOL * 20 };
    struct scene s = scene();
    locus_distribution *d = uniform(s.node, level, 0);
    locus_key keys[100];
    uint64_t before = stats_of(s.node).intents_signaled;
    for (size_t i = 0; i < COUNT; i += n) {
        locus_clock now = locus_current_clock(s.worker);
        locus_sample sample;
        CHECK_EQ(locus_prepare_sample(s.worker, d, n, now + ahead, now + ahead + 1, &sample), 0);
        pull(s.worker, sample, n, keys);
        CHECK_EQ(locus_finish_sample(s.worker, sample), 0);
        locus_advance_clock(s.worker);
    }
    uint64_t signaled = stats_of(s.node).intents_signaled - before;
    locus_distribution_free(d);
    close_both(s.node, s.worker);
    return (double)signaled / COUNT;
}

TEST(sampling, reuse_signals_at_most_a_quarter_of_the_intents_of_independent_sampling)
{
    const size_t sizes[] = {1, 10, 80, 100};
    for (int i = 0; i < 4; i++)
        for (locus_clock ahead = 0; ahead < 100; ahead += 33) {
            double conform = intents_per_key(LOCUS_CONFORM, sizes[i], ahead);
            CHECK(conform == 1);
            double bounded = intents_per_key(LOCUS_BOUNDED, sizes[i], ahead);
            double long_term = intents_per_key(LOCUS_LONG_TERM, sizes[i], ahead);
            CHECK(bounded >= 1.0 / USES && bounded <= conform / 4);
            CHECK(long_term >= 1.0 / USES && long_term <= conform / 4);
            CHECK(intents_per_key(LOCUS_NON_CONFORM, sizes[i], ahead) == 0);
        }
}

/* The next pool's keys are intended while the present one is used: one pool is always ahead. */
TEST(sampling, the_next_pool_is_intended_before_its_turn)
{
    struct scene s = scene();
    locus_distribution *d = uniform(s.node, LOCUS_BOUNDED, 0);
    locus_key key;
    sample_keys(s.worker, d, 1, &key, 1);
    CHECK_EQ(stats_of(s.node).intents_signaled, 2 * POOL);
    locus_distribution_free(d);
    close_both(s.node, s.worker);
}

/* Intents end with their worker, and the next one's clock begins at 0: what was intended for the
 * old one's is void. */
TEST(sampling, a_worker_that_opens_again_begins_with_new_pools)
{
    struct scene s = scene();
    locus_distribution *d = uniform(s.node, LOCUS_BOUNDED, 0);
    locus_key keys[2000];
    sample_keys(s.worker, d, 10, keys, 1000);
    CHECK_EQ(locus_worker_close(s.worker), 0);
    s.worker = worker_of(s.node);
    uint64_t before = stats_of(s.node).intents_signaled;
    sample_keys(s.worker, d, 1, keys, 1);
    CHECK_EQ(stats_of(s.node).intents_signaled - before, 2 * POOL);
    locus_distribution_free(d);
    close_both(s.node, s.worker);
}

TEST(sampling, uses_in_the_past_signal_nothing_and_are_served)
{
    struct scene s = scene();
    locus_key keys[10];
    for (int i = 0; i < 5; i++) locus_advance_clock(s.worker);
    for (int l = 0; l < 4; l++) {
        locus_distribution *d = uniform(s.node, levels[l], 0);
        locus_sample sample;
        CHECK_EQ(locus_prepare_sample(s.worker, d, 10, INT64_MIN, 5, &sample), 0);
        pull(s.worker, sample, 10, keys);
        CHECK_EQ(locus_finish_sample(s.worker, sample), 0);
        locus_distribution_free(d);
    }
    CHECK_EQ(stats_of(s.node).intents_signaled, 0);
    close_both(s.node, s.worker);
}

/* The extremes of clocks, and a start that goes back and forth. */
TEST(sampling, any_clocks_are_served)
{
    static const locus_clock starts[] = {0, INT64_MAX - 1, 5, INT64_MIN, INT64_C(1) << 62, 1000, 0};
    struct scene s = scene();
    locus_key keys[1000];
    for (int l = 0; l < 4; l++) {
        locus_distribution *d = uniform(s.node, levels[l], 0);
        for (int round = 0; round < 70; round++) {
            locus_clock start = starts[round % 7];
            locus_sample sample;
            CHECK_EQ(locus_prepare_sample(s.worker, d, 1000, start,
                                          round % 3 ? start + 1 : INT64_MAX, &sample),
                     0);
            pull(s.worker, sample, 1000, keys);
            CHECK_EQ(locus_finish_sample(s.worker, sample), 0);
            locus_advance_clock(s.worker);
        }
        locus_distribution_free(d);
    }
    close_both(s.node, s.worker);
}

/* When the manager has no room for intents, samples are served all the same. */
TEST(sampling, samples_are_served_when_too_many_intents_wait)
{
    struct scene s = scene();
    locus_key *keys = keys_of(1000000);
    locus_distribution *d = uniform(s.node, LOCUS_BOUNDED, 0),
                       *c = uniform(s.node, LOCUS_CONFORM, 0);
    while (locus_intent(s.worker, keys, 1000000, 100, 200, LOCUS_READ) == 0) {
    }
    while (locus_intent(s.worker, keys, 1000, 100, 200, LOCUS_READ) == 0) {
    }
    while (locus_intent(s.worker, keys, 1, 100, 200, LOCUS_READ) == 0) {
    }
    for (int i = 0; i < 100; i++) {
        locus_sample a, b;
        CHECK_EQ(locus_prepare_sample(s.worker, d, 100, 50, 60, &a), 0);
        CHECK_EQ(locus_prepare_sample(s.worker, c, 100, 50, 60, &b), 0);
        pull(s.worker, a, 100, keys);
        pull(s.worker, b, 100, keys);
        CHECK_EQ(locus_finish_sample(s.worker, a), 0);
        CHECK_EQ(locus_finish_sample(s.worker, b), 0);
    }
    free(keys);
    locus_distribution_free(d);
    locus_distribution_free(c);
    close_both(s.node, s.worker);
}

/* ---- threads ---- */

/* Two loaders prepare for one worker, who prepares some itself, and pulls and finishes all. */
enum { HANDED = 1000, SAMPLE = 40 };
struct hand_over {
    locus_worker *worker;
    locus_distribution *d[4];
    locus_sample sample[HANDED];
    unsigned handed;
};

static void *load(void *argument)
{
    struct hand_over *h = argument;
    locus_loader *l;
    CHECK_EQ(locus_loader_open(h->worker, &l), 0);
    for (unsigned i = 0; i < HANDED; i++) {
        CHECK_EQ(locus_loader_prepare_sample(l, h->d[i % 4], SAMPLE, i, i + 1, &h->sample[i]), 0);
        __atomic_store_n(&h->handed, i + 1, __ATOMIC_RELEASE);
    }
    CHECK_EQ(locus_loader_close(l), 0);
    return NULL;
}

static void wait_for(struct hand_over *h, unsigned i)
{
    while (__atomic_load_n(&h->handed, __ATOMIC_ACQUIRE) <= i) sched_yield();
}

static void pull_what_is_handed(locus_worker *w, struct hand_over *h, unsigned i)
{
    locus_key keys[SAMPLE];
    wait_for(h, i);
    pull(w, h->sample[i], SAMPLE / 2, keys);
    pull(w, h->sample[i], SAMPLE / 2, keys + SAMPLE / 2);
    CHECK_EQ(locus_finish_sample(w, h->sample[i]), 0);
    is_not_open(w, h->sample[i]);
}

TEST(sampling, loaders_prepare_while_their_worker_prepares_and_pulls)
{
    struct scene s = scene();
    struct hand_over h[2];
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) h[i] = (struct hand_over){.worker = s.worker};
    for (int l = 0; l < 4; l++)
        h[0].d[l] = h[1].d[l] = uniform(s.node, levels[l], l % 2 ? LOCUS_WITHOUT_REPLACEMENT : 0);
    for (int i = 0; i < 2; i++) CHECK_EQ(pthread_create(&thread[i], NULL, load, &h[i]), 0);
    for (unsigned i = 0; i < HANDED; i++) {
        locus_key keys[SAMPLE];
        sample_keys(s.worker, h[0].d[i % 4], SAMPLE, keys, SAMPLE);
        pull_what_is_handed(s.worker, &h[0], i);
        pull_what_is_handed(s.worker, &h[1], i);
    }
    for (int i = 0; i < 2; i++) CHECK_EQ(pthread_join(thread[i], NULL), 0);
    for (int l = 0; l < 4; l++) locus_distribution_free(h[0].d[l]);
    close_both(s.node, s.worker);
}

/* A distribution belongs to all workers of its node. */
struct crowd {
    locus *node;
    locus_distribution *d[4];
};

static void *sample_alone(void *argument)
{
    const struct crowd *c = argument;
    locus_worker *w = worker_of(c->node);
    locus_key keys[8000];
    for (int l = 0; l < 4; l++) sample_keys(w, c->d[l], 64, keys, 8000);
    CHECK_EQ(locus_worker_close(w), 0);
    return NULL;
}

TEST(sampling, workers_share_a_distribution)
{
    struct crowd c = {.node = one_node(ROWS, LENGTH, 4)};
    pthread_t thread[4];
    locus_worker *w = worker_of(c.node);
    set_rows(w);
    CHECK_EQ(locus_worker_close(w), 0);
    for (int l = 0; l < 4; l++)
        c.d[l] = weighted(c.node, levels[l], l % 2 ? 0 : LOCUS_WITHOUT_REPLACEMENT);
    for (int i = 0; i < 4; i++) CHECK_EQ(pthread_create(&thread[i], NULL, sample_alone, &c), 0);
    for (int i = 0; i < 4; i++) CHECK_EQ(pthread_join(thread[i], NULL), 0);
    for (int l = 0; l < 4; l++) locus_distribution_free(c.d[l]);
    CHECK_EQ(locus_close(c.node), 0);
}
