/*
 * options.h - the command line that all benchmarks share, and the words of --only.
 *
 * Callers   main(), once
 * Memory    texts belong to argv
 * Waiting   never
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "common/args.h"

#include <stdbool.h>
#include <stddef.h>

enum { REPETITIONS_MAX = 99 };

struct options {
    bool quick;           /* small sizes, a few seconds: to see that it runs, not how fast */
    bool demo;            /* 10 to 20 s and one short table */
    unsigned threads;     /* as asked; by default one a processor */
    unsigned repetitions; /* 0: the benchmark chooses */
    const char *only;     /* NULL: all cells */
};

struct program {
    const char *name;
    const char *about;              /* for --help: what is measured, and what words --only knows */
    const struct args_option *more; /* options of its own */
    size_t more_count;
    bool has_no_demo; /* it does not know --demo */
};

/* Ends the program after --help (status 0) and, with one sentence on stderr, on a wrong option
 * (status 2). */
void options_parse(struct options *o, const struct program *p, int argc, char **argv);

/* Whether --only chooses the cell: each of its words, which commas separate, is a word of the
 * cell's name. */
bool options_select(const struct options *o, const char *cell);

/* Ends the program with status 2 and a sentence: --only has chosen nothing. */
_Noreturn void options_refuse_selection(const struct options *o);

#endif
