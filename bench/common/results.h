/*
 * results.h - results for programs that compare runs: one line of JSON for each cell.
 *
 * Callers   one thread
 * Memory    a line, from results_open() to results_close()
 * Waiting   for the file. One that cannot be written ends the program with a sentence
 */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include "spread.h"

#include "common/json.h"

/* NULL for `path` NULL, and then nothing is written; stdout for "-". */
struct json *results_open(const char *path);
void results_close(struct json *j);

/* {"benchmark": "NAME", "cell": "CELL" */
void results_begin(struct json *j, const char *benchmark, const char *cell);
/* NAME_median, NAME_mad, NAME_min, NAME_max */
void results_spread(struct json *j, const char *name, struct spread s);

#endif
