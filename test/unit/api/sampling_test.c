/* Sampling as programs see it: what is refused, pulled and finished, by threads as well. */
#include "worker/samples.h"
#include "threads.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* ---- what is refused ---- */

static const struct locus_table two_lengths[] = {{.name = "a", .rows = 10, .length = 4},
                                                 {.name = "b", .rows = 10, .length = 4},
                                                 {.name = "c", .rows = 10, .length = 5}};

TEST(sampling_calls, distributions_refuse_ranges_weights_levels_and_flags_that_cannot_be)
{
    static const struct {
        locus_key first;
        uint64_t count;
        const char *part;
    } ranges[] = {{0, 0, "count"},
                  {30, 1, "valid keys are 0 to 29"},
                  {0, 31, "31 keys from key 0"},
                  {29, 2, "out of range"},
                  {1, UINT64_MAX, "out of range"},
                  {UINT64_MAX, 2, "out of range"},
                  {0, 30, "table a have 4 floats, those of c 5"},
                  {19, 2, "register a distribution for each length"}};
    static const struct {
        double weights[3];
        const char *part;
    } weights[] = {{{1, -0.5, 1}, "weight 1, of key 3, is -0.5"},
                   {{1, 2, (double)NAN}, "weight 2, of key 4, is"},
                   {{(double)INFINITY, 2, 1}, "weight 0, of key 2, is inf"},
                   {{0, 0, 0}, "all 3 weights are 0"}};
    locus *n = node_of(two_lengths, 3, 1, 1);
    locus_distribution *d;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const locus_key first = ranges[i].first;
        const uint64_t count = ranges[i].count;
        d = (void *)n; /* anything but NULL */
        REFUSED(locus_distribution_uniform(n, first, count, LOCUS_CONFORM, 0, &d), -EINVAL,
                ranges[i].part);
        CHECK(d == NULL);
        REFUSED(locus_distribution_weighted(n, first, zipf(), count, LOCUS_CONFORM, 0, &d), -EINVAL,
                ranges[i].part);
    }
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        REFUSED(locus_distribution_weighted(n, 2, weights[i].weights, 3, LOCUS_BOUNDED, 0, &d),
                -EINVAL, weights[i].part);
    REFUSED(locus_distribution_weighted(n, 2, NULL, 3, LOCUS_BOUNDED, 0, &d), -EINVAL,
            "`weights` is NULL");
    REFUSED(locus_distribution_uniform(n, 0, 1, (enum locus_conformity)4, 0, &d), -EINVAL,
            "conformity is 4");
    REFUSED(locus_distribution_uniform(n, 0, 1, (enum locus_conformity) - 1, 0, &d), -EINVAL,
            "conformity is -1");
    REFUSED(locus_distribution_uniform(n, 0, 1, LOCUS_CONFORM, 2, &d), -EINVAL, "0x2");
    CHECK_EQ(locus_distribution_uniform(n, 0, 1, LOCUS_CONFORM, 0, NULL), -EINVAL);
    CHECK_EQ(locus_distribution_weighted(n, 0, zipf(), 1, LOCUS_CONFORM, 0, NULL), -EINVAL);
    CHECK_EQ(locus_distribution_uniform(n, 0, 20, LOCUS_CONFORM, 0, &d), 0); /* of both of 4 */
    locus_distribution_free(d);
    locus_distribution_free(NULL);
    CHECK_EQ(locus_close(n), 0);
}

TEST(sampling_calls, prepare_sample_refuses_what_cannot_be)
{
    CLOSED_BY(scene_end) struct scene s = scene();
    locus *other = one_node(ROWS, LENGTH, 1);
    locus_distribution *d = uniform(s.node, LOCUS_BOUNDED, 0),
                       *theirs = uniform(other, LOCUS_BOUNDED, 0);
    locus_distribution *all = weighted(s.node, LOCUS_CONFORM, LOCUS_WITHOUT_REPLACEMENT);
    const struct {
        locus_distribution *d;
        size_t n;
        locus_clock start, end;
        const char *part;
    } wrong[] = {{NULL, 1, 0, 1, "distribution is NULL"},
                 {d, 1, 5, 5, "ends at clock 5"},
                 {d, 1, 5, 4, "not after its start at 5"},
                 {d, (size_t)LOCUS_SAMPLE_KEYS_MAX + 1, 0, 1, "16777217"},
                 {theirs, 1, 0, 1, "another node's"},
                 {all, 91, 0, 1, "only 90 keys"}};
    locus_sample sample;
    locus_loader *l;
    CHECK_EQ(locus_loader_open(s.worker, &l), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sample = 99;
        REFUSED(locus_prepare_sample(s.worker, wrong[i].d, wrong[i].n, wrong[i].start, wrong[i].end,
                                     &sample),
                -EINVAL, wrong[i].part);
        CHECK_EQ(sample, 0);
        REFUSED(locus_loader_prepare_sample(l, wrong[i].d, wrong[i].n, wrong[i].start, wrong[i].end,
                                            &sample),
                -EINVAL, wrong[i].part);
    }
    CHECK_EQ(locus_loader_close(l), 0);
    CHECK_EQ(locus_prepare_sample(s.worker, d, 1, 0, 1, NULL), -EINVAL);
    CHECK_EQ(locus_prepare_sample(s.worker, d, 0, 0, 1, &sample), 0); /* no keys are no work */
    CHECK_EQ(sample, 0);
    CHECK_EQ(locus_pull_sample(s.worker, sample, 0, NULL, NULL), 0);
    CHECK_EQ(locus_finish_sample(s.worker, sample), 0);
    locus_distribution_free(d);
    locus_distribution_free(theirs);
    locus_distribution_free(all);
    CHECK_EQ(locus_close(other), 0);
}

/* ---- pulling and finishing ---- */

TEST(sampling_calls, pull_sample_in_portions_or_whole_is_the_same)
{
    CLOSED_BY(scene_end) struct scene s = scene();
    for (int l = 0; l < 4; l++) {
        locus_distribution *a = weighted(s.node, levels[l], 0), *b = weighted(s.node, levels[l], 0);
        locus_key whole[100], portions[100];
        CHECK_EQ(locus_distribution_seed(a, 5), 0);
        CHECK_EQ(locus_distribution_seed(b, 5), 0);
        for (int round = 0; round < 50; round++) {
            locus_sample x = prepared(s.worker, a, 100), y = prepared(s.worker, b, 100);
            pull(s.worker, x, 100, whole);
            for (size_t i = 0, n = 1; i < 100; i += n, n = i + 2 * n < 100 ? 2 * n : 100 - i)
                if (round % 2) /* keys alone */
                    CHECK_EQ(locus_pull_sample(s.worker, y, n, portions + i, NULL), 0);
                else
                    pull(s.worker, y, n, portions + i);
            CHECK(memcmp(whole, portions, sizeof whole) == 0);
            CHECK_EQ(locus_finish_sample(s.worker, x), 0);
            CHECK_EQ(locus_finish_sample(s.worker, y), 0);
        }
        locus_distribution_free(a);
        locus_distribution_free(b);
    }
}

/* Pools half used, and what is known to be here, do not tell. */
TEST(sampling_calls, seed_worker_repeats_its_draws)
{
    enum { ROUNDS = 60, N = 70 };
    static locus_key first[ROUNDS * N], again[ROUNDS * N];
    CLOSED_BY(scene_end) struct scene s = scene();
    for (int l = 0; l < 4; l++) {
        locus_distribution *d = weighted(s.node, levels[l], 0);
        CHECK_EQ(locus_distribution_seed_worker(d, 0, 11), 0);
        sample_keys(s.worker, d, N, first, ROUNDS * N);
        sample_keys(s.worker, d, N, again, ROUNDS * N);
        CHECK(memcmp(first, again, sizeof first) != 0);
        CHECK_EQ(locus_distribution_seed_worker(d, 0, 11), 0);
        sample_keys(s.worker, d, N, again, ROUNDS * N);
        CHECK(memcmp(first, again, sizeof first) == 0);
        REFUSED(locus_distribution_seed_worker(d, 1, 11), -EINVAL,
                "worker 1 is not one of the node's 1");
        CHECK_EQ(locus_distribution_seed_worker(d, -1, 11), -EINVAL);
        locus_distribution_free(d);
    }
}

TEST(sampling_calls, pull_sample_refuses_more_than_is_left)
{
    CLOSED_BY(scene_end) struct scene s = scene();
    locus_key keys[20];
    float values[20 * LENGTH];
    for (int l = 0; l < 4; l++) {
        locus_distribution *d = uniform(s.node, levels[l], LOCUS_WITHOUT_REPLACEMENT);
        locus_sample sample = prepared(s.worker, d, 10);
        pull(s.worker, sample, 7, keys);
        REFUSED(locus_pull_sample(s.worker, sample, 4, keys, values), -EINVAL,
                "asks for 4 keys, but 3 of the sample's 10 are left");
        REFUSED(locus_pull_sample(s.worker, sample, 3, NULL, values), -EINVAL, "`keys` is NULL");
        pull(s.worker, sample, 3, keys);
        CHECK_EQ(locus_pull_sample(s.worker, sample, 1, keys, values), -EINVAL);
        CHECK_EQ(locus_finish_sample(s.worker, sample), 0);
        locus_distribution_free(d);
    }
}

static void is_not_open(locus_worker *w, locus_sample sample)
{
    locus_key key;
    float row[LENGTH];
    REFUSED(locus_pull_sample(w, sample, 1, &key, row), -EINVAL, "is not open");
    CHECK_EQ(sample == 0 ? -EINVAL : locus_finish_sample(w, sample), -EINVAL);
}

TEST(sampling_calls, pull_sample_refuses_samples_that_are_not_open)
{
    CLOSED_BY(scene_end) struct scene s = scene();
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
    locus_distribution_free(d);
}

TEST(sampling_calls, prepare_sample_refuses_more_than_4096_open)
{
    static locus_sample sample[LOCUS_SAMPLES_MAX];
    CLOSED_BY(scene_end) struct scene s = scene();
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
}

TEST(sampling_calls, worker_close_ends_its_samples)
{
    CLOSED_BY(scene_end) struct scene s = scene();
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

TEST(sampling_calls, loaders_prepare_while_their_worker_prepares_and_pulls)
{
    CLOSED_BY(scene_end) struct scene s = scene();
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
}
