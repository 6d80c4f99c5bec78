/*
 * run.h - what all benchmarks do alike: options, which cells are chosen, repetitions, and lines of
 * JSON on stdout, of which bench/report.py makes tables.
 *
 * A cell is what has a name and a result: something that is timed, in one setting. A benchmark
 * measures each of its cells in every repetition, in turn with the floors that the cell is compared
 * with, so that a noisy moment meets both. Its line has what was measured in each repetition; what
 * these say together is not its business.
 *
 * Callers   the benchmark's thread
 * Memory    static; what was measured, to the end
 * Waiting   for what is measured. What goes wrong ends the program with a sentence
 * Life      run_parse, run_cell for each, run_begin, run_measure, run_end
 */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "latency.h"

#include "common/args.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REPETITIONS_MAX = 99, CELL_NAME = 96, CELL_FIGURES = 72, CELLS_MAX = 1024 };

struct program {
    const char *name;
    const char *about;              /* for --help: what is measured, and what words --only knows */
    const struct args_option *more; /* options of its own */
    size_t more_count;
    unsigned quick, full; /* repetitions */
};

extern struct run {
    bool quick;           /* small sizes, a few seconds: to see that it runs, not how fast */
    unsigned threads;     /* as asked; by default one a processor */
    unsigned repetitions; /* of each cell */
    unsigned repetition;  /* that is on */
} run;

/* Of the command line. Ends the program after --help (status 0) and, with one sentence on stderr,
 * on a wrong option (status 2). */
void run_parse(const struct program *p, int argc, char **argv);

struct cell {
    char name[CELL_NAME];
    const void *what, *where; /* is measured; the setting, which all cells of run_measure() share */
    bool is_chosen;
    unsigned figures;
    struct figure *figure;
};

/* Another cell. It is chosen if it is shown and each word of --only is a word of its name. */
__attribute__((format(printf, 4, 5))) struct cell *run_cell(const void *what, const void *where,
                                                            bool is_shown, const char *name, ...);
/* One after the other; NULL is before the first and behind the last. */
struct cell *run_next(const struct cell *);

/* Says what is measured, and on what; ends the program with status 2 when no cell is chosen. */
void run_begin(void);
bool run_has(const void *where); /* a chosen cell */
/* Measures the chosen cells there in each repetition, back and forth, so that none always follows
 * the same other one; then their lines are printed. */
void run_measure(const void *where, void (*measure)(struct cell *));
void run_report(const void *where); /* the lines alone */
void run_end(void);

/* ---- What was measured. A cell's line has it by name, in the order of the first calls. ---- */

/* Of the repetition that is on: 0 in the beginning. A cell without any was not measured. */
double *cell_figure(struct cell *, const char *name);
/* Of all repetitions together. */
uint64_t *cell_count(struct cell *, const char *name);
void cell_text(struct cell *, const char *name, const char *text);
/* Percentiles of this repetition, the shortest and the longest of all. */
void cell_times(struct cell *, const struct latency *);

#endif
