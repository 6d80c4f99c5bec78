/*
 * Checkpoints of clusters in orders that a seed thinks of, on a disk in memory: rows travel and are
 * copied meanwhile, updates and sets are under way, calls of the file system fail, and the power
 * goes. The files hold the rows as they were when all had come; what fails has failed for all, and
 * has changed nothing; what is found after a crash is the older checkpoint or the new one.
 *
 *   checkpoint             seeds 1 ... 300
 *   checkpoint --seeds N   seeds 1 ... N, or to the first failure
 *   checkpoint --seed N    one
 */
#include "checkpoint.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed;

void give_up(const char *format, ...)
{
    va_list arguments;
    printf("seed %" PRIu64 ": ", seed);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\nreplay: checkpoint --seed %" PRIu64 "\n", seed);
    fflush(stdout);
    _Exit(1);
}

int main(int argc, char **argv)
{
    enum { SEEDS = 300 };
    uint64_t first = 1, last = SEEDS;
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        last = strtoull(argv[2], NULL, 10);
    } else if (argc == 3 && strcmp(argv[1], "--seed") == 0) {
        first = last = strtoull(argv[2], NULL, 10);
    } else if (argc != 1) {
        fprintf(stderr, "usage: checkpoint [--seeds N | --seed N]\n");
        return 2;
    }
    for (seed = first; seed <= last; seed++) story_run(seed);
    printf("%" PRIu64 " seeds: %" PRIu64 " checkpoints and %" PRIu64 " restores, %" PRIu64
           " of which a fault ended; %" PRIu64 " crashes, %" PRIu64 " found the older one, %" PRIu64
           " the new one; %" PRIu64 " disks that changed while they were read, %" PRIu64
           " of them when rows were being set; %" PRIu64 " relocations, %" PRIu64 " replicas\n"
           "1 passed, 0 failed, 0 skipped\n",
           last - first + 1, counts.checkpoints, counts.restores, counts.failed, counts.crashes,
           counts.of_the_old, counts.of_the_new, counts.changed, counts.told, counts.relocations,
           counts.replicas);
    return 0;
}
