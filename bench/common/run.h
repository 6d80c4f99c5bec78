/*
 * run.h - what all benchmarks do alike: options, where results go, which cells are chosen, what the
 * repetitions say together, and the lines around the tables.
 *
 * A cell is what has a name and a result: something that is timed, in one setting. A benchmark
 * measures each of its cells in every repetition, in turn with the floors that the cell is compared
 * with, so that a noisy moment meets both.
 *
 * Callers   the benchmark's thread
 * Memory    static, in the benchmark's struct bench; the file of JSON and its line
 * Waiting   never. What goes wrong ends the program with a sentence
 * Life      run_parse, run_begin, anything else, run_end
 */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "options.h"
#include "results.h"
#include "spread.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct run {
    const char *name; /* of the benchmark */
    struct options options;
    FILE *report;      /* where tables and sentences go */
    struct json *json; /* NULL: not wanted */
    unsigned repetitions;
    uint64_t clock_cost; /* ns for reading the clock twice: taken off the time of a single call */
};

/* How often each cell is measured, unless --repetitions says so. demo: 0 is as full. */
struct run_repetitions {
    unsigned quick, demo, full;
};

void run_parse(struct run *r, const struct program *p, int argc, char **argv);
void run_repeat(struct run *r, struct run_repetitions repetitions);
/* Ends the program with status 2 when --only has chosen nothing; else opens what results go to. */
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

/* ---- What the repetitions say together ---- */

struct spread run_spread(const struct run *r, const double *values);
/* Each divided by the floor of the same repetition. */
struct spread run_ratio(const struct run *r, const double *values, const double *floor);
/* Takes the smaller, or the larger, one of each repetition into `best`. */
void run_least(const struct run *r, double *best, const double *values);
void run_most(const struct run *r, double *best, const double *values);

/* ---- Lines that all print ---- */

/* The first two: what is measured, and on what. */
void run_title(const struct run *r, const char *title);
/* What a short run's figures are worth, if this is one; and an empty line. */
void run_end_title(const struct run *r, const char *if_quick);
/* Whether a target is met. Short runs are not judged. */
const char *run_verdict(const struct run *r, bool is_met);
/* Behind the targets: what else runs here. */
void run_show_load(const struct run *r);

/* Begins a line of JSON with the name of the benchmark and of a cell. */
void run_json(const struct run *r, const char *cell);

#endif
