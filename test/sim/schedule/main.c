/*
 * Schedules, schedulers and ports, in orders that a seed thinks of: no part is at two workers, none
 * is lost or done twice, each variable comes within a bounded number of rounds, the filter holds
 * for all that is in flight together, and what is drawn by priority has the frequencies that it
 * should.
 *
 *   schedule             seeds 1 ... 300
 *   schedule --seeds N   seeds 1 ... N, or to the first failure
 *   schedule --seed N    one
 */
#include "schedule.h"

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
    printf("\nreplay: schedule --seed %" PRIu64 "\n", seed);
    fflush(stdout);
    exit(1);
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
        fprintf(stderr, "usage: schedule [--seeds N | --seed N]\n");
        return 2;
    }
    for (seed = first; seed <= last; seed++) {
        rounds_run(seed);
        cluster_run(seed);
    }
    printf("%" PRIu64 " seeds\n1 passed, 0 failed, 0 skipped\n", last - first + 1);
    return 0;
}
