/*
 * run.h - what all benchmarks do alike: options, which cells are chosen, and their lines of JSON on
 * stdout, of which bench/report.py makes tables.
 *
 * A cell is what has a name and a result: something that is timed, in one setting. A benchmark
 * measures each of its cells in every repetition, in turn with the floors that the cell is compared
 * with, so that a noisy moment meets both. Its line has what was measured in each repetition; what
 * these say together is not its business.
 *
 * Callers   the benchmark's thread
 * Memory    static, in the benchmark's struct bench; a line of JSON
 * Waiting   never. What goes wrong ends the program with a sentence
 * Life      run_parse, run_repeat, run_begin, anything else, run_end
 */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "options.h"

#include "common/json.h"

#include <stdbool.h>
#include <stdint.h>

struct run {
    const char *name; /* of the benchmark */
    struct options options;
    struct json json; /* the line that run_cell() began */
    unsigned repetitions;
    uint64_t clock_cost; /* ns for reading the clock twice: taken off the time of a single call */
};

/* How often each cell is measured, unless --repetitions says so. demo: 0 is as full. */
struct run_repetitions {
    unsigned quick, demo, full;
};

void run_parse(struct run *r, const struct program *p, int argc, char **argv);
void run_repeat(struct run *r, struct run_repetitions repetitions);
/* Ends the program with status 2 when --only has chosen nothing; else says what is measured, and on
 * what. */
void run_begin(struct run *r, bool selects_any);
void run_end(struct run *r);

/* Whether --only chooses the cell of this name. */
static inline bool run_selects(const struct run *r, const char *cell)
{
    return options_select(&r->options, cell);
}

/* The i-th of `count` things in this repetition: back and forth, so that no one always follows the
 * same other one. */
static inline unsigned run_turn(unsigned repetition, unsigned i, unsigned count)
{
    return repetition % 2 ? count - 1 - i : i;
}

/* Begins the line of a cell; more members may follow, and json_end(&r->json). */
void run_cell(struct run *r, const char *cell);
/* What was measured in each repetition. */
void run_values(struct run *r, const char *name, const double *values);

#endif
