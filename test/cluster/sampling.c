/* Sampling among nodes: values wherever the row is, what is put off, what is local. */
#include "team.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 2, KEYS = 3000, LENGTH = 4 };
static const struct locus_table table = {.rows = KEYS, .length = LENGTH};
static const enum locus_conformity levels[] = {LOCUS_CONFORM, LOCUS_BOUNDED, LOCUS_LONG_TERM,
                                               LOCUS_NON_CONFORM};

/* A worker's statistics are its node's here: one worker a node. Samples of several, and rows that
 * move: stress.c. */
#define TEAM TEAM_OF(NODES, 1, 2, LOCUS_STATIC, &table, 1)

/* Rows that say which key they belong to. */
static void set_rows(struct seat *s)
{
    struct batch all = batch_of_all(s->node);
    BATCH_FOREACH(c, &all)
    for (uint32_t i = 0; i < LENGTH; i++) c.row[i] = (float)(c.key * 10 + i);
    if (s->number == 0) CHECK_EQ(locus_set(s->worker, all.keys, all.n, all.values), 0);
    batch_free(&all);
    seat_barrier(s);
}

static void check_rows(const locus_key *keys, size_t n, const float *values)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t f = 0; f < LENGTH; f++)
            CHECK(values[i * LENGTH + f] == (float)(keys[i] * 10 + f));
}

static locus_distribution *distribution_of(locus *n, locus_key first, uint64_t count,
                                           enum locus_conformity level, unsigned flags)
{
    locus_distribution *d;
    CHECK_EQ(locus_distribution_uniform(n, first, count, level, flags, &d), 0);
    return d;
}

/* The sample's next n keys. */
static void pull(locus_worker *w, locus_sample sample, size_t n, locus_key *keys)
{
    CLOSED_BY(free_at) float *values = calloc(n * LENGTH, sizeof *values);
    CHECK(values != NULL);
    CHECK_EQ(locus_pull_sample(w, sample, n, keys, values), 0);
    check_rows(keys, n, values);
}

static locus_sample prepared(locus_worker *w, locus_distribution *d, size_t n)
{
    locus_sample sample;
    locus_clock now = locus_current_clock(w);
    CHECK_EQ(locus_prepare_sample(w, d, n, now, now + 2, &sample), 0);
    return sample;
}

/* A sample in `portions` equal portions. */
static void sample_keys(locus_worker *w, locus_distribution *d, size_t n, size_t portions,
                        locus_key *keys)
{
    locus_sample sample = prepared(w, d, n);
    for (size_t i = 0; i < portions; i++) pull(w, sample, n / portions, keys + i * (n / portions));
    CHECK_EQ(locus_finish_sample(w, sample), 0);
    locus_advance_clock(w);
}

/* ---- where rows are pulled from ---- */

static double remote_share(struct seat *s, enum locus_conformity level)
{
    enum { N = 100, SAMPLES = 100 };
    locus_key keys[N];
    locus_distribution *d = distribution_of(s->node, 0, KEYS, level, 0);
    uint64_t before = stats_of(s->node).pulled_remote;
    for (int i = 0; i < SAMPLES; i++) sample_keys(s->worker, d, N, 2, keys);
    locus_distribution_free(d);
    return (double)(stats_of(s->node).pulled_remote - before) / (N * SAMPLES);
}

TEST_SEATS(sampling, non_conform_pulls_nothing_from_elsewhere, s, TEAM)
{
    set_rows(s);
    /* About the half of the rows is elsewhere. 40 pools' draws decide, so a tenth more or less is
     * far out of reach. */
    CHECK(remote_share(s, LOCUS_CONFORM) > 0.4 && remote_share(s, LOCUS_CONFORM) < 0.6);
    CHECK(remote_share(s, LOCUS_BOUNDED) > 0.3 && remote_share(s, LOCUS_LONG_TERM) > 0.3);
    CHECK(remote_share(s, LOCUS_NON_CONFORM) == 0);
    seat_barrier(s);
}

/* What is put off is intended once more, so that its row comes; but not where none ever comes. */
TEST_SEATS(sampling, long_term_signals_no_intent_where_rows_never_move, s, TEAM)
{
    enum { N = 100, PORTION = 10 };
    locus_key keys[N];
    set_rows(s);
    locus_distribution *d = distribution_of(s->node, 0, KEYS, LOCUS_LONG_TERM, 0);
    locus_sample sample = prepared(s->worker, d, N);
    uint64_t before = stats_of(s->node).intents_signaled;
    for (size_t i = 0; i < N; i += PORTION) pull(s->worker, sample, PORTION, keys + i);
    CHECK_EQ(stats_of(s->node).intents_signaled, before);
    CHECK_EQ(locus_finish_sample(s->worker, sample), 0);
    locus_distribution_free(d);
    seat_barrier(s);
}

/* ---- local sampling when little or nothing is here ---- */

static bool is_here(const struct seat *s, locus_key key)
{
    locus_key next;
    return locus_owned(s->node, key, &next, 1) == 1 && next == key;
}

/* The longest run of keys that are all elsewhere; a key that is here follows it. */
static uint64_t find_run(const struct seat *s, locus_key *first)
{
    uint64_t longest = 0, run = 0;
    for (locus_key key = 0; key < KEYS; key++) {
        bool here = is_here(s, key);
        if (here && run > longest) {
            longest = run;
            *first = key - run;
        }
        run = here ? 0 : run + 1;
    }
    CHECK(longest > 0);
    return longest;
}

TEST_SEATS(sampling, non_conform_falls_back_where_nothing_is_here, s, TEAM)
{
    enum { N = 1 };
    locus_key first = 0, keys[N];
    uint64_t run = find_run(s, &first);
    set_rows(s);
    for (unsigned flags = 0; flags <= LOCUS_WITHOUT_REPLACEMENT; flags++) {
        locus_distribution *d = distribution_of(s->node, first, run, LOCUS_NON_CONFORM, flags);
        uint64_t before = stats_of(s->node).pulled_remote;
        for (int i = 0; i < 100; i++) sample_keys(s->worker, d, N, 1, keys);
        CHECK_EQ(stats_of(s->node).pulled_remote - before, 100 * N);
        locus_distribution_free(d);
    }
    seat_barrier(s);
}

/* ---- postponing (NuPS, Section 4.4) ---- */

static int compare(const void *a, const void *b)
{
    const locus_key x = *(const locus_key *)a, y = *(const locus_key *)b;
    return (x > y) - (x < y);
}

/* Before the last portion, keys that are here come before those that had to be put off. */
static void check_order(const struct seat *s, const locus_key *keys, size_t n)
{
    bool put_off = false;
    for (size_t i = 0; i < n; i++) {
        bool here = is_here(s, keys[i]);
        CHECK(!here || !put_off);
        put_off = !here;
    }
}

/* The same draws with and without: samples have the same keys, in another order. So what BOUNDED
 * promises of frequencies holds for LONG_TERM, too. */
TEST_SEATS(sampling, long_term_changes_the_order_within_a_sample_and_nothing_else, s, TEAM)
{
    enum { N = 80, PORTIONS = 4, SAMPLES = 400 };
    locus_key a[N], b[N];
    unsigned first_portions_remote = 0;
    locus_distribution *d[2] = {distribution_of(s->node, 0, KEYS, LOCUS_BOUNDED, 0),
                                distribution_of(s->node, 0, KEYS, LOCUS_LONG_TERM, 0)};
    for (int i = 0; i < 2; i++) CHECK_EQ(locus_distribution_seed(d[i], 11), 0);
    set_rows(s);
    for (int i = 0; i < SAMPLES; i++) {
        sample_keys(s->worker, d[0], N, PORTIONS, a);
        sample_keys(s->worker, d[1], N, PORTIONS, b);
        check_order(s, b, N - N / PORTIONS);
        for (int j = 0; j < N / PORTIONS; j++) first_portions_remote += !is_here(s, b[j]);
        qsort(a, N, sizeof *a, compare);
        qsort(b, N, sizeof *b, compare);
        CHECK(memcmp(a, b, sizeof a) == 0);
    }
    /* Of 80 keys 20 are here, but for 1 sample in a million. */
    CHECK_EQ(first_portions_remote, 0);
    for (int i = 0; i < 2; i++) locus_distribution_free(d[i]);
    seat_barrier(s);
}

/* ---- calls that fail ---- */

TEST_SEATS(sampling, pull_sample_that_would_wait_in_a_section_leaves_the_sample_as_it_was, s, TEAM)
{
    enum { N = 40 };
    locus_key keys[2][N];
    float values[N * LENGTH];
    set_rows(s);
    for (int l = 0; l < 4; l++) {
        locus_distribution *d[2];
        locus_sample sample[2];
        for (int i = 0; i < 2; i++) {
            d[i] = distribution_of(s->node, 0, KEYS, levels[l], LOCUS_WITHOUT_REPLACEMENT);
            CHECK_EQ(locus_distribution_seed(d[i], 12), 0);
            sample[i] = prepared(s->worker, d[i], N);
        }
        bool is_local = levels[l] == LOCUS_NON_CONFORM;
        locus_read_begin(s->worker);
        for (int tries = 0; tries < 3 && !is_local; tries++) {
            CHECK_EQ(locus_pull_sample(s->worker, sample[0], N, keys[0], values), -EDEADLK);
            CHECK_EQ(locus_pull_sample(s->worker, sample[0], N + 1, keys[0], values), -EINVAL);
        }
        if (is_local) pull(s->worker, sample[0], N, keys[0]);
        locus_read_end(s->worker);
        if (!is_local) pull(s->worker, sample[0], N, keys[0]);
        pull(s->worker, sample[1], N, keys[1]);
        CHECK(memcmp(keys[0], keys[1], sizeof keys[0]) == 0);
        for (int i = 0; i < 2; i++) {
            CHECK_EQ(locus_finish_sample(s->worker, sample[i]), 0);
            locus_distribution_free(d[i]);
        }
    }
    seat_barrier(s);
}
