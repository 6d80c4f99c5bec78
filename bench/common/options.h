/*
 * options.h - the command line that all benchmarks share.
 *
 * Callers   main(), once
 * Memory    texts belong to argv
 * Waiting   never
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct options {
    bool quick;           /* small sizes, a few seconds: to see that it runs, not how fast */
    bool demo;            /* 10 to 20 s and one short table */
    unsigned threads;     /* as asked; by default one a processor */
    unsigned repetitions; /* 0: the benchmark chooses */
    const char *only;     /* NULL: all cells */
    const char *json;     /* NULL: none; "-": stdout */
    const char *svg;      /* NULL: none */
};

/* target: bool, unsigned (at least 1), const char * */
enum option_kind { OPTION_FLAG, OPTION_COUNT, OPTION_TEXT };

/* An option that one benchmark has beside the common ones. */
struct option_spec {
    const char *name;     /* "--rows" */
    const char *argument; /* as --help shows it: "N"; NULL for a flag */
    const char *help;
    enum option_kind kind;
    void *target;
    unsigned max; /* for a count */
};

struct program {
    const char *name;
    const char *about; /* for --help: what is measured, and what words --only knows */
    const struct option_spec *more;
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

/* Where tables and sentences go: stdout, or stderr when stdout carries JSON. */
FILE *options_report(const struct options *o);

#endif
