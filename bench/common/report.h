/*
 * report.h - the lines that benchmarks print alike.
 *
 * Callers   one thread
 * Memory    static
 * Waiting   never
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "options.h"

#include <stdbool.h>
#include <stdio.h>

/* The first two: what is measured, and on what. */
void report_title(FILE *out, const char *title);

/* Whether a target is met. Short runs are not judged. */
const char *report_verdict(const struct options *o, bool is_met);

/* Behind the targets: what else runs here. */
void report_load(FILE *out, const struct options *o);

#endif
