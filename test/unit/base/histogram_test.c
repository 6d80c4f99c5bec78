#include "base/histogram.h"
#include "test.h"

TEST(histogram, counts_powers_of_two)
{
    static const struct {
        uint64_t ns;
        unsigned bucket;
    } all[] = {{0, 0},
               {1, 0},
               {2, 1},
               {3, 1},
               {4, 2},
               {1023, 9},
               {1024, 10},
               {1025, 10},
               {(UINT64_C(1) << (LOCUS_HISTOGRAM_BUCKETS - 1)) - 1, LOCUS_HISTOGRAM_BUCKETS - 2},
               {UINT64_C(1) << (LOCUS_HISTOGRAM_BUCKETS - 1), LOCUS_HISTOGRAM_BUCKETS - 1},
               {UINT64_C(1) << 62, LOCUS_HISTOGRAM_BUCKETS - 1}};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        struct locus_histogram h = {0};
        histogram_add(&h, all[i].ns);
        for (unsigned b = 0; b < LOCUS_HISTOGRAM_BUCKETS; b++)
            CHECK_EQ(h.count[b], b == all[i].bucket);
        CHECK(h.sum == all[i].ns);
    }
}

TEST(histogram, sums_are_those_of_their_parts)
{
    struct locus_histogram a = {0}, b = {0}, sum = {0};
    for (uint64_t ns = 1; ns < 1000; ns++) histogram_add(ns % 3 ? &a : &b, ns);
    histogram_sum(&sum, &a);
    histogram_sum(&sum, &b);
    uint64_t count = 0;
    for (unsigned i = 0; i < LOCUS_HISTOGRAM_BUCKETS; i++) {
        CHECK_EQ(sum.count[i], a.count[i] + b.count[i]);
        count += sum.count[i];
    }
    CHECK_EQ(count, 999);
    CHECK_EQ(sum.sum, 999 * 1000 / 2);
}
