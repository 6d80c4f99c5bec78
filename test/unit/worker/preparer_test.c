/* What intent is signaled for samples, by the worker. */
#include "worker/node.h"
#include "pair.h"
#include "samples.h"

#include <errno.h>
#include <string.h>

/* Prepares n keys for these clocks, pulls them, and finishes. */
static void use(locus_worker *w, locus_distribution *d, size_t n, locus_clock start,
                locus_clock end)
{
    static locus_key keys[1000];
    locus_sample sample;
    CHECK_EQ(locus_prepare_sample(w, d, n, start, end, &sample), 0);
    pull(w, sample, n, keys);
    CHECK_EQ(locus_finish_sample(w, sample), 0);
}

/* Keys for which intent was signaled, a sampled key. Clocks advance with every sample. */
static double intents_per_key(enum locus_conformity level, size_t n, locus_clock ahead)
{
    enum { COUNT = PER_POOL * 20 };
    struct scene s = scene();
    locus_distribution *d = uniform(s.node, level, 0);
    uint64_t before = stats_of(s.node).intents_signaled;
    for (size_t i = 0; i < COUNT; i += n) {
        locus_clock now = locus_current_clock(s.worker);
        use(s.worker, d, n, now + ahead, now + ahead + 1);
        locus_advance_clock(s.worker);
    }
    uint64_t signaled = stats_of(s.node).intents_signaled - before;
    locus_distribution_free(d);
    scene_end(&s);
    return (double)signaled / COUNT;
}

TEST(sampling_preparer, prepare_signals_a_quarter_of_the_intents_where_keys_are_used_again)
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
TEST(sampling_preparer, prepare_intends_the_next_pool_before_its_turn)
{
    CLOSED_BY(scene_end) struct scene s = scene();
    locus_distribution *d = uniform(s.node, LOCUS_BOUNDED, 0);
    locus_key key;
    sample_keys(s.worker, d, 1, &key, 1);
    CHECK_EQ(stats_of(s.node).intents_signaled, 2 * POOL);
    locus_distribution_free(d);
}

/* Intents end with their worker, and the next one's clock begins at 0: what was intended for the
 * old one's is void. */
TEST(sampling_preparer, prepare_of_a_worker_that_opens_again_begins_with_new_pools)
{
    CLOSED_BY(scene_end) struct scene s = scene();
    locus_distribution *d = uniform(s.node, LOCUS_BOUNDED, 0);
    locus_key keys[2000];
    sample_keys(s.worker, d, 10, keys, 1000);
    CHECK_EQ(locus_worker_close(s.worker), 0);
    s.worker = worker_of(s.node);
    uint64_t before = stats_of(s.node).intents_signaled;
    sample_keys(s.worker, d, 1, keys, 1);
    CHECK_EQ(stats_of(s.node).intents_signaled - before, 2 * POOL);
    locus_distribution_free(d);
}

/* The past, in which nothing is signaled; then the extremes of clocks, and starts to and fro. */
TEST(sampling_preparer, prepare_serves_any_clocks_and_signals_nothing_for_the_past)
{
    static const locus_clock starts[] = {0, INT64_MAX - 1, 5, INT64_MIN, INT64_C(1) << 62, 1000, 0};
    CLOSED_BY(scene_end) struct scene s = scene();
    locus_distribution *d[4];
    for (int i = 0; i < 5; i++) locus_advance_clock(s.worker);
    for (int l = 0; l < 4; l++) {
        d[l] = uniform(s.node, levels[l], 0);
        use(s.worker, d[l], 10, INT64_MIN, 5);
    }
    CHECK_EQ(stats_of(s.node).intents_signaled, 0);
    for (int l = 0; l < 4; l++) {
        for (int round = 0; round < 70; round++) {
            locus_clock start = starts[round % 7];
            use(s.worker, d[l], 1000, start, round % 3 ? start + 1 : INT64_MAX);
            locus_advance_clock(s.worker);
        }
        locus_distribution_free(d[l]);
    }
}

/* When the manager has no room for intents, samples are served all the same. */
TEST(sampling_preparer, prepare_serves_when_too_many_intents_wait)
{
    static const struct locus_table table = {.rows = ROWS, .length = LENGTH};
    CLOSED_BY(pair_end) struct pair p;
    locus_key keys[100] = {0};
    pair_init(&p, &table, 1);
    pair_open(&p);
    set_rows(p.worker[0]);
    locus_distribution *d = uniform(p.node[0], LOCUS_BOUNDED, 0),
                       *c = uniform(p.node[0], LOCUS_CONFORM, 0);
    __atomic_fetch_add(&p.node[0]->waiting_keys, LOCUS_WAITING_KEYS_MAX, __ATOMIC_RELAXED);
    CHECK_EQ(locus_intent(p.worker[0], keys, 1, 100, 200), -ENOBUFS);
    for (int i = 0; i < 100; i++) {
        use(p.worker[0], d, 100, 50, 60);
        use(p.worker[0], c, 100, 50, 60);
    }
    __atomic_fetch_sub(&p.node[0]->waiting_keys, LOCUS_WAITING_KEYS_MAX, __ATOMIC_RELAXED);
    locus_distribution_free(d);
    locus_distribution_free(c);
}
