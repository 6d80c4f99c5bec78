#include "base/figures.h"
#include "test.h"

TEST(histogram, add_counts_powers_of_two)
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
