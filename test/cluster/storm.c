/* Storms under static partitioning: rows stay where they are. */
#include "storms.h"

TEST(storm, among_two_nodes)
{
    storm_here((struct storm){2, 1, 1, LOCUS_STATIC, SUMS_ALL_KEYS, {0}});
}

TEST(storm, among_workers_that_outnumber_cores)
{
    storm_here((struct storm){2, 4, 4, LOCUS_STATIC, SUMS_ALL_KEYS, {0}});
    storm_here((struct storm){4, 4, 1, LOCUS_STATIC, SUMS_ALL_KEYS, {0}});
}

TEST(storm, on_few_keys)
{
    storm_here((struct storm){3, 2, 2, LOCUS_STATIC, SUMS_FEW_KEYS, {0}});
}

TEST(storm, among_two_processes)
{
    storm_among_processes((struct storm){2, 2, 2, LOCUS_STATIC, SUMS_ALL_KEYS, {0}});
}

TEST(storm, among_four_processes)
{
    storm_among_processes((struct storm){4, 2, 2, LOCUS_STATIC, SUMS_FEW_KEYS, {0}});
}
