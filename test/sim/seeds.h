/*
 * seeds.h - a simulation that is run for one seed after the other, to the first failure.
 *
 *   NAME             seeds 1 ... so many
 *   NAME --seeds N   seeds 1 ... N
 *   NAME --seed N    one
 *
 * Callers   main(), and on its thread whatever it runs
 * Memory    none
 * Waiting   never
 */
#ifndef LOCUS_TEST_SIM_SEEDS_H
#define LOCUS_TEST_SIM_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

enum { SEEDS = 300 };

/* Runs those that were asked for; how many. A wrong command line ends the program; if a seed does, by
 * a signal or by what a sanitizer finds, its number is said first. */
uint64_t seeds_run(int argc, char **argv, void (*run)(uint64_t seed));
/* The same of other than SEEDS; then new ones until LOCUS_TEST_SECONDS seconds are over. */
uint64_t seeds_run_long(int argc, char **argv, uint64_t seeds, void (*run)(uint64_t seed));
/* The closing lines of what is one test; returns what main() does. */
int seeds_end(bool is_good);

/* Says what is wrong with which seed, and ends the program. */
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define MUST(condition, ...) \
    do { \
        if (!(condition)) give_up(__VA_ARGS__); \
    } while (0)

#endif
