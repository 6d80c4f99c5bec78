/* A pool at its end, and without replacement. Its traversals and their orders: distribution_test. */
#include "worker/chi_square.h"
#include "worker/sample_stream.h"

static struct random numbers(uint64_t seed)
{
    struct random r;
    random_init(&r, seed, 0, 0);
    return r;
}

static void fill(struct pool *p, struct random *r, uint64_t keys, size_t size)
{
    CLOSED_BY(target_fini) struct target t;
    target_init_uniform(&t, 0, keys);
    CHECK_EQ(pool_fill(p, &t, r, size), 0);
    CHECK_EQ(p->size, size);
    CHECK_EQ(pool_left(p), size * POOL_USES);
}

TEST(pool, take_of_more_than_is_left_gives_what_is_left)
{
    static locus_key out[2 * POOL_KEYS * POOL_USES];
    CLOSED_BY(pool_fini) struct pool p = {0};
    struct random r = numbers(2);
    fill(&p, &r, 1000, POOL_KEYS);
    CHECK_EQ(pool_take(&p, &r, NULL, out, 7), 7);
    CHECK_EQ(pool_take(&p, &r, NULL, out, sizeof out / sizeof *out), POOL_KEYS * POOL_USES - 7);
    fill(&p, &r, 1000, 10);
    CHECK_EQ(pool_take(&p, &r, NULL, out, 161), 160);
}

/* Half of all weight is one key's, the rest is of a hundred others: it comes first in half of all
 * samples, and second in half of those where it has not been first; whichever sample of a pool that
 * is. */
TEST(pool, take_without_replacement_gives_a_heavy_key_its_places)
{
    enum { OTHERS = 100, SAMPLE = 8, POOLS = 1000 };
    CLOSED_BY(pool_fini) struct pool p = {0};
    CLOSED_BY(keyset_fini) struct keyset drawn = {0};
    struct random r = numbers(6);
    CLOSED_BY(target_fini) struct target t;
    double weight[1 + OTHERS] = {OTHERS};
    locus_key out[SAMPLE];
    uint64_t samples = 0, first = 0, second = 0;
    for (int i = 1; i <= OTHERS; i++) weight[i] = 1;
    CHECK_EQ(target_init_weighted(&t, 0, weight, 1 + OTHERS), 0);
    for (int pool = 0; pool < POOLS; pool++) {
        CHECK_EQ(pool_fill(&p, &t, &r, POOL_KEYS), 0);
        for (;; samples++) {
            CHECK_EQ(keyset_begin(&drawn, SAMPLE), 0);
            if (pool_take(&p, &r, &drawn, out, SAMPLE) < SAMPLE) break;
            first += out[0] == 0;
            second += out[1] == 0;
        }
    }
    CHECK(samples > POOLS * POOL_USES * POOL_KEYS / SAMPLE / 3);
    CHECK(fabs((double)first / (double)samples - 0.5) < 0.01);
    CHECK(fabs((double)second / (double)samples - 0.5 * 0.5 / (1 - 0.5 / OTHERS)) < 0.01);
}

TEST(pool, take_ends_when_the_sample_has_all_keys)
{
    CLOSED_BY(pool_fini) struct pool p = {0};
    CLOSED_BY(keyset_fini) struct keyset drawn = {0};
    struct random r = numbers(5);
    locus_key out[20];
    fill(&p, &r, 5, POOL_KEYS);
    for (int sample = 0; sample < POOL_USES; sample++) {
        CHECK_EQ(keyset_begin(&drawn, 20), 0);
        CHECK_EQ(pool_take(&p, &r, &drawn, out, 20), 5);
        unsigned seen = 0;
        for (int i = 0; i < 5; i++) seen |= 1u << out[i];
        CHECK_EQ(seen, 31);
    }
    CHECK_EQ(pool_left(&p), 0);
}
