/*
 * Schedules, schedulers and ports, in orders that a seed thinks of: no part is at two workers, none
 * is lost or done twice, each variable comes within a bounded number of rounds, the filter holds
 * for all that is in flight together, and what is drawn by priority has the frequencies that it
 * should.
 */
#include "schedule.h"

#include <inttypes.h>
#include <stdio.h>

static void run(uint64_t seed)
{
    rounds_run(seed);
    cluster_run(seed);
}

int main(int argc, char **argv)
{
    printf("%" PRIu64 " seeds\n", seeds_run(argc, argv, run));
    return seeds_end(true);
}
