/* Storms under every technique: rows move and are replicated while everybody uses them; sums are
 * exact afterwards. */
#include "storms.h"

TEST(adaptive, in_a_storm)
{
    storm_here((struct storm){2, 2, 1, LOCUS_ADAPTIVE, SUMS_ALL_KEYS, {0}});
    storm_here((struct storm){3, 1, 2, LOCUS_ADAPTIVE, SUMS_FEW_KEYS, {0}});
    storm_here((struct storm){4, 2, 1, LOCUS_ADAPTIVE, SUMS_FEW_KEYS, {0}});
}

TEST(adaptive, by_relocation_only_in_a_storm)
{
    storm_here((struct storm){3, 1, 2, LOCUS_RELOCATE, SUMS_FEW_KEYS, {0}});
}

TEST(adaptive, by_replication_only_in_a_storm)
{
    storm_here((struct storm){2, 2, 1, LOCUS_REPLICATE, SUMS_ALL_KEYS, {0}});
    storm_here((struct storm){3, 1, 2, LOCUS_REPLICATE, SUMS_FEW_KEYS, {0}});
}

TEST(adaptive, by_full_replication_in_a_storm)
{
    storm_here((struct storm){2, 1, 1, LOCUS_FULL_REPLICATION, SUMS_ALL_KEYS, {0}});
    storm_here((struct storm){3, 2, 2, LOCUS_FULL_REPLICATION, SUMS_FEW_KEYS, {0}});
}

TEST(adaptive, among_processes)
{
    storm_among_processes((struct storm){4, 2, 2, LOCUS_ADAPTIVE, SUMS_FEW_KEYS, {0}});
    storm_among_processes((struct storm){3, 1, 1, LOCUS_ADAPTIVE, SUMS_ALL_KEYS, {0}});
}
