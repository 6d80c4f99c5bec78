#include "seeds.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *program;
static uint64_t seed;

void give_up(const char *format, ...)
{
    va_list arguments;
    printf("seed %" PRIu64 ": ", seed);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\nreplay: %s --seed %" PRIu64 "\n", program, seed);
    fflush(stdout);
    _Exit(1); /* what was under way is left as it is: no leak to report */
}

uint64_t seeds_run(int argc, char **argv, void (*run)(uint64_t seed))
{
    uint64_t first = 1, last = SEEDS;
    program = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        last = strtoull(argv[2], NULL, 10);
    } else if (argc == 3 && strcmp(argv[1], "--seed") == 0) {
        first = last = strtoull(argv[2], NULL, 10);
    } else if (argc != 1) {
        fprintf(stderr, "usage: %s [--seeds N | --seed N]\n", program);
        exit(2);
    }
    for (seed = first; seed <= last; seed++) run(seed);
    return last - first + 1;
}
