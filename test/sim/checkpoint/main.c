/*
 * Checkpoints of clusters in orders that a seed thinks of, on a disk in memory: rows travel and are
 * copied meanwhile, updates and sets are under way, calls of the file system fail, and the power
 * goes. The files hold the rows as they were when all had come; what fails has failed for all, and
 * has changed nothing; what is found after a crash is the older checkpoint or the new one.
 */
#include "checkpoint.h"

#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    uint64_t seeds = seeds_run(argc, argv, story_run);
    printf("%" PRIu64 " seeds: %" PRIu64 " checkpoints and %" PRIu64 " restores, %" PRIu64
           " of which a fault ended; %" PRIu64 " crashes, %" PRIu64 " found the older one, %" PRIu64
           " the new one; %" PRIu64 " disks that changed while they were read, %" PRIu64
           " of them when rows were being set; %" PRIu64 " nodes lost, %" PRIu64
           " comparisons then; %" PRIu64 " relocations, %" PRIu64 " replicas\n",
           seeds, counts.checkpoints, counts.restores, counts.failed, counts.crashes,
           counts.of_the_old, counts.of_the_new, counts.changed, counts.told, counts.lost,
           counts.exact, counts.relocations, counts.replicas);
    return seeds_end(true);
}
